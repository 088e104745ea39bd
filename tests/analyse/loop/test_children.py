"""How long child processes ran in each phase of a step, compared with times by the children themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analyse.loop.test_programs import tables

pytest.importorskip("torch")

PROGRAM = """\
import json, multiprocessing, time
import torch
def work(ns):
    until = time.monotonic_ns() + ns
    while time.monotonic_ns() < until:
        pass
def child(took):
    begin = time.process_time_ns()
    while time.process_time_ns() < begin + 300_000_000:  # of its CPU, however busy the machine is
        pass
    time.sleep(0.2)
    took.value = time.process_time_ns() - begin
context = multiprocessing.get_context("fork")
net = torch.nn.Linear(8, 8)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
took = []
for _ in range(4):
    value = context.Value("q", 0)
    process = context.Process(target=child, args=(value,))
    process.start()
    process.join()
    took.append(value.value)
    work(200_000_000)
    net(torch.randn(4, 8)).sum().backward()
    opt.step()
print(json.dumps(took))
"""


def test_phases_say_how_long_children_ran(tmp_path: Path) -> None:
    found, said = tables(tmp_path, PROGRAM)
    took_ns = sum(json.loads(said)[1:])  # the first step is warm-up
    waiting = next(row for row in found["phases"] if row["function"] == "<module>")
    assert 0.8 * took_ns <= waiting["children_ns"] <= 1.2 * took_ns + 30_000_000
    assert waiting["time_ns"] >= took_ns + 3 * 190_000_000
    own = next(row for row in found["phases"] if row["function"] == "work")
    assert own["children_ns"] <= 0.1 * took_ns
