"""What a program does before its first step: longer than the steps, long, and short; made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.diagnoses import Cause, Diagnoses
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS, STEP_MS = 10, 100


@pytest.mark.parametrize(
    ("reads_ms", "label"),
    [(1600, "SLOW"), (600, "ALSO"), (240, None), (450, None)],
    ids=["longer than all steps", "much of the run", "less than a fifth", "short"],
)
def test_reading_data_before_the_first_step(reads_ms: int, label: str | None, tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    start = {"monotonic_ns": 0, "cpu_ns": 0}
    end_ns = (reads_ms + STEPS * STEP_MS) * MS
    program.meta |= {"start": start, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}}
    for at in range(0, reads_ms * MS, 10 * MS):
        program.sample(at, at + 10 * MS, "/p/train.py:4 main", "/p/train.py:12 read", cpu_ns=10 * MS)
    stack = program.stack("/p/train.py:30 main")
    for number in range(STEPS):
        at = (reads_ms + number * STEP_MS) * MS
        program.run(
            op("aten::mm", at, at + 90 * MS, stack=stack),
            op("MmBackward0", at + 90 * MS, at + 95 * MS, stack=stack, node_sequence=number, node_thread=1),
            op("Optimizer.step#SGD.step", at + 95 * MS, at + 100 * MS, stack=stack, scope=7),
        )
    findings = found(program, tmp_path)
    rows = [row for row in screen_rows(findings) if "before the first step, " in row.text]
    assert [row.label for row in rows] == ([] if label is None else [label])
    starts = findings[Diagnoses].of(Cause.START_UP)
    assert [each.stands_out for each in starts] == ([] if label is None else [label == "SLOW"])
    if rows:
        place = rows[0].line
        assert place is not None
        assert place.line == 12
