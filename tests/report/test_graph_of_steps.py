"""The picture of a program with steps: its 100 % is their own time, and operators have measured times."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.errors import UsageError
from perfprobe.support.graph_view import GraphView
from perfprobe.tables.python import CallStructure
from perfprobe.tables.ranges import RangeSource
from perfprobe.tables.scopes import STEP_NAME
from perfprobe.tables.strings import Strings
from tests.build import Program, op
from tests.collect.runs import perfprobe
from tests.report.pictured import Picture, draw, needs_dot
from tests.snapshots import Snapshot

US = 1000
MAIN, FORWARD, PREPARE = "/p/train.py:20/1 <module>", "/p/model.py:88/80 Net.forward", "/p/train.py:5/4 load"
STEPS, START_US, STEP_US = 4, 500, 1000


def looping(waited_us: int = 0) -> Program:
    """500 us of start-up, then steps: 600 us of mm, 1 us of layer_norm, 200 us in forward, 199 us in main.

    Samples are where operators are: between them only every other one is right in number.
    """
    end_us = START_US + STEPS * STEP_US
    program = Program(
        program={"argv": ["train.py"], "cwd": "/p", "pid": 1001},
        start={"monotonic_ns": 0, "cpu_ns": 0},
        stop={"monotonic_ns": end_us * US, "cpu_ns": end_us * US},
    )
    program.thread(1, "MainThread")
    forward = program.stack(MAIN, FORWARD)
    program.run(op("aten::randn", 100 * US, 200 * US, stack=program.stack(MAIN, PREPARE)))
    program.sample(0, 150 * US, MAIN, PREPARE)
    program.sample(150 * US, (START_US - 1) * US, MAIN, PREPARE)
    for number in range(STEPS):
        at = START_US + number * STEP_US
        program.named_range(STEP_NAME, at * US, (at + STEP_US) * US, source=int(RangeSource.PERFPROBE))
        program.run(
            op("aten::mm", at * US, (at + 600) * US, stack=forward),
            op("aten::layer_norm", (at + 600) * US, (at + 601) * US, stack=forward),
        )
        program.sample((at - 1) * US, (at + 590) * US, MAIN, FORWARD)
        program.sample((at + 590) * US, (at + 801) * US, MAIN, FORWARD)
        program.sample((at + 801) * US, (at + 999) * US, MAIN)
    for time_us, wait_us in ((0, 0), (end_us, waited_us)) if waited_us else ():
        program.row("thread_times", time_us * US, 0, 0, wait_us * US, 0, 0, 0)
    return program


@needs_dot
def test_the_whole_is_the_own_time_of_the_steps(tmp_path: Path, snapshot: Snapshot) -> None:
    found = Picture(draw(looping(), tmp_path, GraphView(min_node=1)))
    assert found.boxes["Net.forward"].rows["mm"] == ":88  60.0 %  4×"
    assert found.boxes["train.py"].figures.startswith("100 % own ")
    assert "load" not in found.boxes
    snapshot(title=found.title, legend=found.legend, notes=found.notes)


@needs_dot
def test_the_whole_run_on_request(tmp_path: Path) -> None:
    found = Picture(draw(looping(), tmp_path, GraphView(by="run", min_node=1)))
    assert found.boxes["load"].figures == "10.0 % own 7.8 %"
    assert found.boxes["Net.forward"].rows["mm"] == ":88  53.3 %  4×"
    assert "start-up" not in found.notes


@needs_dot
@pytest.mark.parametrize("option", ["leaf", "focus"])
def test_an_operator_that_is_asked_for_is_drawn(tmp_path: Path, option: str) -> None:
    assert "layer_norm" not in Picture(draw(looping(), tmp_path)).names
    found = Picture(draw(looping(), tmp_path, GraphView(**{option: "layer_norm"})))
    assert found.boxes["Net.forward"].rows["layer_norm"] == ":88  0.1 %  4×"
    assert "train.py" in found.boxes


def test_what_is_not_in_steps_is_in_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--by run"):
        draw(looping(), tmp_path, GraphView(leaf="randn"))
    with pytest.raises(UsageError, match="--by run"):
        draw(looping(), tmp_path, GraphView(root="load"))
    assert "randn" in draw(looping(), tmp_path, GraphView(leaf="randn", by="run"))


def test_waiting_for_a_processor_is_apart(tmp_path: Path) -> None:
    _, graph = Results(looping(waited_us=900).recording(tmp_path).path).graph(GraphView())
    waited_ns = 900 * US * STEPS * STEP_US // (START_US + STEPS * STEP_US)  # readings are only at both ends
    assert graph.whole == STEPS * STEP_US * US - waited_ns
    drawn = int(graph.functions.own.sum() + graph.operators.total.sum()) + sum(graph.unplaced_ns.values())
    assert drawn == graph.whole


# Clocks around the calls, which wait for a processor as operators in the whole run do.
TIMED = """
import json, sys
from collections import Counter
from time import perf_counter_ns
import torch

torch.set_num_threads(1)
spent = Counter()

def product(x, w):
    start = perf_counter_ns()
    for _ in range(20):
        x = x @ w
    spent["product"] += perf_counter_ns() - start
    return x

def norm(x):
    start = perf_counter_ns()
    for _ in range(3):
        x = torch.sort(x).values
    spent["norm"] += perf_counter_ns() - start
    return x

def spin():
    start = perf_counter_ns()
    while perf_counter_ns() - start < 6_000_000:
        pass
    spent["spin"] += perf_counter_ns() - start

def main():
    x, w = torch.randn(256, 256), torch.eye(256)
    y = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([y], lr=0.1)
    for step in range(40):
        norm(product(x, w))
        spin()
        y.square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    json.dump(spent, open("spent.json", "w"))

main()
"""


def test_times_equal_clocks_around_the_calls(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "timed.py").write_text(TIMED)
    assert perfprobe(["-q", "-o", "a.perfprobe", "timed.py"], tmp_path).status == 0
    spent = json.loads((tmp_path / "spent.json").read_text())
    found, graph = Results(str(tmp_path / "a.perfprobe")).graph(GraphView(by="run"))
    strings, code = found.trace.recording[Strings], found[CallStructure].python.code
    names = [strings[code.function[row]] for row in graph.functions.code.tolist()]
    drawn: Counter[str] = Counter()
    for caller, total in zip(graph.operators.caller.tolist(), graph.operators.total.tolist(), strict=True):
        drawn[names[caller]] += total
    for name in ("product", "norm"):
        assert drawn[name] == pytest.approx(spent[name], rel=0.1), name
    assert "spin" in names
