"""Forward of which no backward runs: a teacher beside a student, made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.tables.judgements import NeedlessForward
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS = 12


def judged(
    folder: Path, teacher_ms: float, *, records: bool, same_line: bool = False
) -> NeedlessForward | None:
    """The teacher runs at line 20, the student at line 21 for 4 ms, then backward for 4 ms.

    records: whether autograd makes nodes for the teacher too. same_line: both are called at one line.
    """
    made, at, number = Program(**META), 0, 0
    made.thread(1)
    lines = [made.stack(f"/p/train.py:{line} main") for line in (20, 20 if same_line else 21)]
    update = made.stack("/p/train.py:32 main")
    for _ in range(STEPS):
        for stack, time_ns, is_student in ((lines[0], int(teacher_ms * MS), False), (lines[1], 4 * MS, True)):
            recorded = records or is_student
            made.run(op("aten::mm", at, at + time_ns, stack=stack, sequence=number if recorded else -1))
            number += recorded
            at += time_ns
        node = {"stack": update, "node_sequence": number - 1, "node_thread": 1}
        made.run(op("MmBackward0", at, at + 4 * MS, **node))
        at += 4 * MS
        made.run(op("aten::add_", at, at + MS // 2, stack=update, sequence=number))
        made.run(op("Optimizer.step#SGD.step", at, at + MS, stack=update, scope=7))
        at += MS
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    return found(made, folder).get(NeedlessForward)


def test_forward_without_backward_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, 6, records=True)
    assert found is not None
    assert found.share == pytest.approx(6 / 15, abs=0.01)


def test_little_of_it_is_not_named(tmp_path: Path) -> None:
    assert judged(tmp_path, 0.8, records=True) is None


def test_forward_under_no_grad_is_not_named(tmp_path: Path) -> None:
    assert judged(tmp_path, 6, records=False) is None


def test_a_line_that_has_backward_too_is_not_named(tmp_path: Path) -> None:
    assert judged(tmp_path, 6, records=True, same_line=True) is None
