"""What is named first in a program without steps, by how long operators and Python took of 100 ms."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.diagnose.run import of_run
from perfprobe.merge import link
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, Outside
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.python import CallStructure
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000
_STOP = {"monotonic_ns": 100 * MS, "cpu_ns": 100 * MS}


def judged(folder: Path, operators_ms: int, python: dict[Cause, int]) -> list[tuple[Cause, bool]]:
    program = Program(**META | {"stop": _STOP})
    program.thread(1)
    program.run(op("aten::mm", 0, operators_ms * MS, stack=program.stack("/p/train.py:3 main")))
    passed = [
        Diagnosis(
            cause=cause,
            base=Base.RUN,
            time_ns=time_ms * MS,
            share=time_ms / 100,
            stands_out=True,
            phases={},
        )
        for cause, time_ms in python.items()
    ]
    found = find(link(program.recording(folder)), Hotspots).plus(Outside(tuple(passed)))
    return [(each.cause, each.stands_out) for each in of_run(found, None)]


@pytest.mark.parametrize(
    ("operators_ms", "python", "first", "others"),
    [
        (5, {}, Cause.OPERATOR, []),
        (4, {}, None, [Cause.OPERATOR]),
        (9, {Cause.PYTHON: 30}, Cause.PYTHON, []),
        (10, {Cause.PYTHON: 30}, Cause.PYTHON, [Cause.OPERATOR]),
        (31, {Cause.PYTHON: 30}, Cause.OPERATOR, [Cause.PYTHON]),
        (31, {Cause.COMPILE: 30}, Cause.COMPILE, [Cause.OPERATOR]),  # happens only once
        (4, {Cause.WAITING: 30}, Cause.WAITING, []),
    ],
)
def test_operators_or_python_come_first(
    tmp_path: Path, operators_ms: int, python: dict[Cause, int], first: Cause | None, others: list[Cause]
) -> None:
    found = judged(tmp_path, operators_ms, python)
    causes = [cause for cause, _ in found]
    assert causes == [*([] if first is None else [first]), *others]
    assert found[0][1] is (first is not None)


@pytest.mark.parametrize(
    ("calls", "each_us", "elements", "is_said"),
    [
        (12_000, 3, 4, True),
        (9_000, 3, 4, False),  # few
        (12_000, 2, 4, False),  # 24 % of the run: other Python takes the time
        (12_000, 3, 4_000, False),  # 48 kB take 10 us on a slow core
    ],
)
def test_many_short_operators_come_before_the_python_that_calls_them(
    tmp_path: Path, calls: int, each_us: int, elements: int, is_said: bool
) -> None:
    program = Program(**META | {"stop": _STOP})
    program.thread(1)
    stacks = [program.stack(f"/p/render.py:{line} main") for line in (3, 4)]
    inputs = program.signature(f"f32[{elements}] f32[{elements}] alpha=1")
    for number in range(calls):
        at, stack = number * 100 * MS // calls, stacks[number % 3 > 0]
        program.run(op("aten::add", at, at + each_us * 1000, stack=stack, signature=inputs))
    python = Diagnosis(
        cause=Cause.PYTHON, base=Base.RUN, time_ns=40 * MS, share=0.4, stands_out=True, phases={}
    )
    found = find(link(program.recording(tmp_path)), Hotspots, CallStructure).plus(Outside((python,)))
    first, *others = of_run(found, None)
    assert first.cause is (Cause.SHORT_OPERATORS if is_said else Cause.PYTHON)
    if is_said:
        line = found.trace.line(first.frame)
        assert (first.short is not None, line is not None and line.line) == (True, 4)
        assert [each.cause for each in others][:1] == [Cause.PYTHON]
