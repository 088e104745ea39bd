"""What a program does outside of its steps: longer than these, long, and short; made by hand."""

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


LENGTHS: dict[str, tuple[int, str | None]] = {
    "longer than all steps": (1600, "SLOW"),
    "much of the run": (600, "ALSO"),
    "less than a fifth": (240, None),
    "short": (450, None),
}


@pytest.mark.parametrize("cause", [Cause.START_UP, Cause.AFTER])
@pytest.mark.parametrize(("reads_ms", "label"), LENGTHS.values(), ids=LENGTHS)
def test_reading_data_before_or_after_the_steps(
    cause: Cause, reads_ms: int, label: str | None, tmp_path: Path
) -> None:
    program = Program(**META)
    program.thread(1)
    start = {"monotonic_ns": 0, "cpu_ns": 0}
    end_ns = (reads_ms + STEPS * STEP_MS) * MS
    program.meta |= {"start": start, "stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}}
    before_ms = reads_ms if cause is Cause.START_UP else 0
    stack = program.stack("/p/train.py:30 main")
    for number in range(STEPS):
        at = (before_ms + number * STEP_MS) * MS
        program.run(
            op("aten::mm", at, at + 90 * MS, stack=stack),
            op("MmBackward0", at + 90 * MS, at + 95 * MS, stack=stack, node_sequence=number, node_thread=1),
            op("Optimizer.step#SGD.step", at + 95 * MS, at + 100 * MS, stack=stack, scope=7),
        )
    begin_ns = (0 if before_ms else STEPS * STEP_MS) * MS
    for at in range(begin_ns, begin_ns + reads_ms * MS, 10 * MS):
        program.sample(at, at + 10 * MS, "/p/train.py:4 main", "/p/train.py:12 read", cpu_ns=10 * MS)
    findings = found(program, tmp_path)
    words = "before the first step, " if before_ms else "outside of the steps, "
    rows = [row for row in screen_rows(findings) if words in row.text]
    assert [row.label for row in rows] == ([] if label is None else [label])
    judged = findings[Diagnoses].of(cause)
    assert [each.stands_out for each in judged] == ([] if label is None else [label == "SLOW"])
    if rows:
        place = rows[0].line
        assert place is not None
        assert place.line == 12
