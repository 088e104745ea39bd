"""Copies into another layout in several lines: programs made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS = 12
PERMUTED, SAME = "f32[8,4,4,2] f32[8,4,4,2]{32,4,1,16}", "f32[8,4] f32[8,4]"
HALVED = "f32[8,4] f16[8,4]"


def judged(folder: Path, calls: Sequence[tuple[int, str, str, float]]) -> list[Diagnosis]:
    """Steps of these operators: line, name, inputs, ms; and of 10 ms in line 9."""
    made, at = Program(**META), 0
    made.thread(1)
    update, engine = made.stack("/p/train.py:32 main"), made.stack("/p/train.py:31 main")
    for number in range(STEPS):
        for line, name, inputs, ms in ((9, "aten::mm", SAME, 10), *calls):
            end = at + int(ms * MS)
            facts = {"stack": made.stack(f"/p/net.py:{line} forward"), "signature": made.signature(inputs)}
            made.run(op(name, at, end, sequence=number, **facts))
            at = end
        node = {"stack": engine, "node_sequence": number, "node_thread": 1}
        made.run(op("MmBackward0", at, at + MS, **node))
        made.run(op("Optimizer.step#SGD.step", at + MS, at + 2 * MS, stack=update, scope=7))
        at += 2 * MS
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    return list(found(made, folder)[Diagnoses].found)


def test_they_are_one_finding_and_come_before_a_line_that_is_little_larger(tmp_path: Path) -> None:
    first, second, *_ = judged(
        tmp_path,
        [(10, "aten::copy_", PERMUTED, 4), (11, "aten::mm", SAME, 2), (12, "aten::copy_", PERMUTED, 4)],
    )
    assert first.cause is Cause.CONVERSIONS
    assert first.share == pytest.approx(8 / 22, abs=0.01)
    assert first.lines == (10, 12)
    assert second.share == pytest.approx(10 / 22, abs=0.01)


@pytest.mark.parametrize(
    "calls",
    [
        [(10, "aten::copy_", PERMUTED, 8)],  # a line like others
        [(10, "aten::copy_", SAME, 4), (12, "aten::copy_", HALVED, 4)],  # of a value, to a dtype
        [(10, "aten::copy_", PERMUTED, 1), (12, "aten::copy_", PERMUTED, 1)],  # 14 %
        [(10, "aten::copy_", PERMUTED, 4), (10, "aten::mm", SAME, 4), (12, "aten::copy_", PERMUTED, 4)],
    ],
)
def test_nearly_such_lines_are_lines(tmp_path: Path, calls: list[tuple[int, str, str, float]]) -> None:
    assert all(each.cause is not Cause.CONVERSIONS for each in judged(tmp_path, calls))
