"""Steps in which torch.compile was at work, and functions that it compiled again; made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.tables.diagnoses import Cause, Diagnoses
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled
from perfprobe.tables.steps import StepMark, Steps, StepTimes
from tests.report.test_screen import MS, found, steps
from tests.snapshots import Snapshot


def compiling(tmp_path: Path, at: list[int], each_ms: list[int]) -> Findings:
    """8 steps of 100 ms, of which some compile. each_ms: the compilations of one function, in order."""
    function = {"file": "/p/net.py", "line": 7, "function": "forward"}
    calls = [
        {**function, "time_ns": time_ms * MS, "guard": f"n == {number}"}
        for number, time_ms in enumerate(each_ms)
    ]
    findings = found(steps(compilations={"calls": calls, "more": False}), tmp_path)
    times = findings[StepTimes]
    marks = times.steps.mark.copy()
    marks[at] = StepMark.COMPILE
    marked = Steps(**times.steps.columns() | {"mark": marks})
    return diagnosed(findings.plus(replace(times, steps=marked)))


@pytest.mark.parametrize(
    ("at", "share"),
    [([0, 1, 4], None), ([3, 5], 0.25), ([0, 2, 3, 6], 0.375), ([7], None)],
    ids=["the first ones and one more", "two late ones", "three late ones", "one"],
)
def test_steps_that_compile_late_are_a_bottleneck(at: list[int], share: float | None, tmp_path: Path) -> None:
    judged = compiling(tmp_path, at, [])[Diagnoses]
    causes = judged.of(Cause.COMPILE)
    assert [each.share for each in causes] == ([] if share is None else [pytest.approx(share, abs=0.01)])
    if causes:
        assert judged.slow is causes[0]
        assert causes[0].steps == np.count_nonzero(np.array(at) >= 2)


def test_they_come_first_with_the_function_and_the_guard(tmp_path: Path, snapshot: Snapshot) -> None:
    rows = screen_rows(compiling(tmp_path, [0, 3, 5], [400, 100, 100]))
    rows = [row for row in rows if row.label in ("SLOW", "", "GAIN", "TRY", "ALSO")]
    snapshot("\n".join(f"{row.label:8}{row.text}" for row in rows))


@pytest.mark.parametrize(
    ("each_ms", "is_said"),
    [([100, 40, 40], True), ([700, 20, 20], False), ([100, 200], False), ([10, 1, 1, 1], True)],
    ids=["three times, long", "three times, the first one long", "twice", "four times"],
)
def test_a_function_that_is_compiled_again(each_ms: list[int], is_said: bool, tmp_path: Path) -> None:
    """All steps take 800 ms."""
    assert (compiling(tmp_path, [], each_ms).get(Recompiled) is not None) == is_said
