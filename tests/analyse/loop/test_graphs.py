"""A missing `no_grad` is said of calls in which autograd recorded, not of what ran between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from tests.analyse.loop.test_programs import tables
from tests.analyse.test_gpu import steps
from tests.build import Program, op
from tests.eager import WHOLE_TORCH

US, CALLS = 1_000, 5


@pytest.mark.parametrize(("in_call", "between"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_only_what_a_call_records_counts(tmp_path: Path, in_call: int, between: int) -> None:
    """in_call, between: whether a node is made in each call, and before each."""
    program, number = Program(), 0
    program.thread(1)
    net = ("/env/torch/nn/modules/module.py:9 _wrapped_call_impl", program.module("", "Net"))
    first, last = (program.stack("/p/main.py:6 main", net, f"/p/net.py:{line} forward") for line in (8, 9))
    other = program.stack("/p/main.py:5 main")
    for at in range(0, CALLS * 1000 * US, 1000 * US):
        program.run(op("aten::mul", at, at + US, stack=other, sequence=number))
        number += between
        program.run(op("aten::add", at + 10 * US, at + 11 * US, stack=other, sequence=number))
        program.run(op("aten::addmm", at + 300 * US, at + 310 * US, stack=first, sequence=number))
        number += in_call
        program.run(op("aten::relu", at + 310 * US, at + 320 * US, stack=last, sequence=number))
    found = steps(link(program.recording(tmp_path))).steps
    assert found.graph.tolist() == [in_call] * CALLS


QUANTISED = """\
import torch, warnings
warnings.simplefilter("ignore")
from torch import nn
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
quantised = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
calls = 0
def count(*_):
    global calls
    calls += 1
quantised.register_forward_hook(count)
for _ in range(37):
    assert quantised(torch.ones(4, 8)).grad_fn is None
print(calls)
"""


def test_a_quantised_model_records_no_graph_and_its_calls_are_counted(tmp_path: Path) -> None:
    found, calls = tables(tmp_path, QUANTISED, environment=WHOLE_TORCH)
    assert [row["steps"] for row in found["loops"]] == [int(calls)] == [37]
    assert {row["graph"] for row in found["steps"]} == {0}
    assert not any("no_grad" in row["text"] for row in found["first_screen"])
