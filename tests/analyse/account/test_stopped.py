"""Steps that last long on a busy machine for no reason that the scheduler counts: programs made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.tables.live_steps import LiveSteps
from tests.analyse.account.test_account import account_of
from tests.build import Program, op
from tests.report.test_text import META

MS = 1_000_000
STEPS = 30


def phases_ms(
    folder: Path, *, late_ms: int, wait_ms: int, ran: bool = False, at_other: bool = False
) -> dict[str, float]:
    """Steps of 2 ms Python, 5 ms wait_ms forward, 3 ms optimizer. Of two of them one part takes longer.

    wait_ms: how long forward waits for a processor. ran: whether the thread ran for longer in those two.
    at_other: whether it is the Python.
    """
    program, at, waited_ns = Program(**META), 0, 0
    program.thread(1)
    model, update = program.stack("/p/train.py:20 main"), program.stack("/p/train.py:32 main")
    for number in range(STEPS):
        begin, late = at, late_ms * MS * (number in (11, 23))
        program.sample(at, at + 2 * MS + late * at_other, "/p/train.py:18 main", cpu_ns=2 * MS, wait_ns=0)
        at += 2 * MS + late * at_other
        program.run(op("aten::mm", at, at + (5 + wait_ms) * MS, stack=model, sequence=number))
        program.row("wait_readings", at, at + (5 + wait_ms) * MS, 0, wait_ms * MS)
        at += (5 + wait_ms) * MS
        program.run(op("MmBackward0", at, at + 1000, stack=update, node_sequence=number, node_thread=1))
        end = at + 3 * MS + late * (not at_other)
        program.run(op("Optimizer.step#SGD.step", at + 1000, end, stack=update, scope=7))
        program.sample(at + 1000, end, "/p/train.py:32 main", cpu_ns=3 * MS, wait_ns=0)
        at, waited_ns = end, waited_ns + wait_ms * MS
        row = {
            "start_ns": begin,
            "end_ns": at,
            "number": number,
            "is_recorded": 1,
            "cpu_ns": 10 * MS + late * ran,
            "waited_ns": wait_ms * MS,
        }
        program.row("live_steps", *(dict.fromkeys(LiveSteps.dtypes, 0) | row).values(), anew=True)
    program.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    for time_ns, sum_ns in ((0, 0), (at, waited_ns)):
        program.row("thread_times", time_ns, 0, 0, sum_ns, 0, 0, 0)
    found = account_of(link(program.recording(folder)))
    return {phase.name: time_ns / MS / found.steps for phase, time_ns in found.phases().items()}


def test_in_a_phase_that_computes_it_is_waiting(tmp_path: Path) -> None:
    found = phases_ms(tmp_path, late_ms=100, wait_ms=10)
    assert found["OPTIMIZER"] == pytest.approx(3, rel=0.05)
    assert sum(found.values()) == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(
    "given",
    [
        {"wait_ms": 10, "ran": True},  # a rare long update
        {"wait_ms": 0},  # nobody else has the processors
        {"wait_ms": 10, "at_other": True},  # the program may sleep there
    ],
)
def test_else_it_is_the_program_s(tmp_path: Path, given: dict[str, Any]) -> None:
    found = phases_ms(tmp_path, late_ms=100, **given)
    assert sum(found.values()) == pytest.approx(10 + 200 / STEPS, rel=0.1)
