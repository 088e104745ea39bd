"""Time in the iterator of a `for` loop is data: of programs that time it, and of recordings made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfprobe import _core
from perfprobe.merge import link
from perfprobe.tables.account import Account, LeafKind
from perfprobe.tables.python import WaitsFor
from perfprobe.tables.steps import StepPhase, StepTimes
from tests.analyse.account.test_account import account_of
from tests.build import NEXT, Program, op
from tests.collect.together import together
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000

# Each iterator says how long it worked for each item, and what the loop does beside it is no data.
PROGRAM = """
import json, sys, time
import torch
from torch import nn
torch.set_num_threads(1)
ITEMS, WORK_NS, INPUT = 20, 40_000_000, torch.ones(4, 8)
took = []
def clocked(make):
    for _ in range(ITEMS):
        begin = time.monotonic_ns()
        x = make(begin + WORK_NS)
        took.append(time.monotonic_ns() - begin)
        yield x
def reading(until_ns):
    text = "1"
    while time.monotonic_ns() < until_ns:
        text = str(int(text) + 1)
    return torch.ones(4, 8)
def sleeping(until_ns):
    time.sleep(0.04)
    return torch.ones(4, 8)
def operating(until_ns):
    x = torch.ones(256, 256)
    while time.monotonic_ns() < until_ns:
        x = torch.tanh(x)
    return x[:4, :8].clone()
def items(kind):
    if kind != "in_c":
        return clocked(globals()[kind])
    took[:] = [WORK_NS] * ITEMS
    return map(time.sleep, [WORK_NS / 1e9] * ITEMS)
def train(items):
    net = nn.Linear(8, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in items:  # loop
        for parameter in net.parameters():
            parameter.grad = None
        time.sleep(0.01)
        net(INPUT if x is None else x).sum().backward()
        opt.step()
train(items(sys.argv[1]))
print(json.dumps(took))
"""


KINDS = ("reading", "sleeping", "operating", "in_c")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[dict[str, Any], str]]:
    """The tables of a program, and how long each item took."""
    return together(tmp_path_factory.mktemp("iterators"), {kind: (PROGRAM, kind) for kind in KINDS})


@pytest.mark.skipif(_core.sampler_missing() is not None, reason=str(_core.sampler_missing()))
@pytest.mark.parametrize("kind", KINDS)
def test_time_in_an_iterator_is_data(ran: Callable[[str], tuple[dict[str, Any], str]], kind: str) -> None:
    found, said = ran(kind)
    took_ns = sum(json.loads(said)[1:])  # the first item comes before the first step
    loop = found["loops"][0]
    lines = PROGRAM.splitlines()
    assert (loop["steps"], lines[loop["line"] - 1].endswith("# loop")) == (20, True)
    whole_ns = sum(row["end_ns"] - row["start_ns"] for row in found["steps"])
    data_ns = sum(row["phases"].get("data", 0) for row in found["steps"])
    error = 0.2 if kind == "in_c" else 0.05  # only some thirty samples tell its end from the sleep after it
    assert abs(data_ns - took_ns) <= error * whole_ns
    leaves_ns = [row["time_ns"] + row["waited_ns"] for row in found["account"] if row["kind"] == "data"]
    assert sum(leaves_ns) <= data_ns
    assert abs(sum(leaves_ns) - took_ns) <= (error + 0.1) * whole_ns


MAIN, BODY = "/p/train.py:20 main", "/p/train.py:22 main"
STEPS, STEP_MS = 10, 20
EDGE_MS = 0.6  # between two samples


def program(
    *iterator: str, operators: bool, before: str = "", within: tuple[str, ...] = (), waits_for: int = -1
) -> Program:
    """Steps of 20 ms: 8 in the iterator, of these 5 in an operator if there are any, 2 before the forward.

    iterator: the frames while it works. within: the callers of the function that runs a step. waits_for: what
    the thread waits for in the iterator.
    """
    made = Program(**META)
    made.thread(1)
    net = made.module("", "Net")
    stacks = made.stack(*iterator), made.stack(*within, BODY, ("/p/model.py:88 forward", net))
    updates = made.stack(*within, "/p/train.py:25 main")
    for number in range(STEPS):
        at = number * STEP_MS * MS
        if operators:
            made.run(op("aten::tanh", at + 2 * MS, at + 7 * MS, stack=stacks[0]))
        _look(made, at, at + 8 * MS, *iterator, waits_for=waits_for)
        _look(made, at + 8 * MS, at + 10 * MS, *within, *(before or BODY).split(" > "))
        node = {"node_sequence": number, "node_thread": 1}
        made.run(op("aten::bmm", at + 10 * MS, at + 14 * MS, stack=stacks[1], sequence=number))
        made.run(op("BmmBackward0", at + 14 * MS, at + 18 * MS, stack=made.stack(*within, BODY), **node))
        made.run(op("Optimizer.step#SGD.step", at + 18 * MS, at + 20 * MS, stack=updates, scope=7))
        _look(made, at + 10 * MS, at + 20 * MS, *within, BODY)
    stop = {"monotonic_ns": STEPS * STEP_MS * MS, "cpu_ns": STEPS * STEP_MS * MS}
    made.meta |= {"stop": stop}
    return made


def _look(made: Program, start_ns: int, end_ns: int, *frames: str, waits_for: int = -1) -> None:
    for at in range(start_ns, end_ns, MS):
        made.sample(at, at + MS - 1, *frames, cpu_ns=MS if waits_for < 0 else 0, waits_for=waits_for)


def data_ms(made: Program, folder: Path) -> tuple[float, float]:
    """The time of data of each step but the first, which begins with the forward; also in the account."""
    trace = link(made.recording(folder))
    found = find(trace, StepTimes)[StepTimes]
    later = found.step_phases.take(found.step_phases.step > 0)
    data_ns = int(later.time_ns[later.phase == StepPhase.DATA].sum())
    account: Account = account_of(trace)
    leaves = account.leaves
    of_account_ns = int(leaves.time_ns[leaves.kind == LeafKind.DATA].sum())
    return data_ns / (STEPS - 1) / MS, of_account_ns / (STEPS - 1) / MS


ASKS, MAKES = NEXT + MAIN, "/p/data.py:5 batches"


@pytest.mark.parametrize(
    ("iterator", "operators"),
    [((ASKS, MAKES), False), ((ASKS, MAKES), True), ((ASKS,), False), ((NEXT + BODY, MAKES), True)],
    ids=["a generator", "one that calls operators", "in C", "on the line of the body"],
)
def test_what_a_for_loop_asks_is_data(tmp_path: Path, iterator: tuple[str, ...], operators: bool) -> None:
    assert data_ms(program(*iterator, operators=operators), tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)


def test_a_loop_in_the_body_asks_for_parameters(tmp_path: Path) -> None:
    inner = f"{NEXT}/p/train.py:21 main > /env/site-packages/torch/nn/modules/module.py:9 parameters"
    made = program(ASKS, MAKES, operators=False, before=inner)
    assert data_ms(made, tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)


def test_a_call_that_takes_longer_makes_the_batch(tmp_path: Path) -> None:
    """`for i in range(n): x = batch(i)`."""
    made = program("/p/train.py:21 main", MAKES, operators=False, before=ASKS)
    assert data_ms(made, tmp_path) == pytest.approx((10, 10), abs=EDGE_MS)


STEP = "/p/train.py:31 epoch"


def test_the_loop_may_call_a_function_for_each_item(tmp_path: Path) -> None:
    made = program(f"{NEXT}/p/train.py:30 epoch", MAKES, operators=True, within=(STEP,))
    assert data_ms(made, tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)


def test_a_generator_that_trains_makes_no_items(tmp_path: Path) -> None:
    trains = f"{NEXT}/p/train.py:40 <module>"
    made = program(trains, ASKS, MAKES, operators=False, within=(trains,))
    assert data_ms(made, tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)


@pytest.mark.parametrize("place", [(MAIN,), ("/p/train.py:30 epoch",)], ids=["its function", "its caller"])
def test_a_line_that_waits_for_a_message_waits_for_data(tmp_path: Path, place: tuple[str, ...]) -> None:
    within = () if place == (MAIN,) else (STEP,)
    made = program(*place, operators=False, within=within, waits_for=WaitsFor.MESSAGE)
    assert data_ms(made, tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)
    made = program(*place, operators=False, within=within, waits_for=WaitsFor.OTHER)
    assert data_ms(made, tmp_path) == (0, 0)


def test_old_recordings_do_not_say_who_asks(tmp_path: Path) -> None:
    assert data_ms(program(MAIN, MAKES, operators=False), tmp_path) == pytest.approx((8, 8), abs=EDGE_MS)
    assert data_ms(program(MAIN, operators=False), tmp_path) == (0, 0)
