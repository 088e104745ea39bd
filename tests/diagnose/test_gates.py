"""Limits for changes: how they are written, and what comes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe import comparing
from perfprobe.models.compared import Change, Comparison, Outcome
from perfprobe.support.errors import UsageError
from tests.test_comparing import changed, compare, of_folders
from tests.versions import BASE, Version, folders


def outcomes(found: Comparison, *limits: str) -> list[str]:
    return [each.outcome.value for each in comparing.judged(found, comparing.gates(limits))]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "step",
            "step>",
            "step>3",
            "stepp>3%",
            "step>3%%",
            "step<3%",
            "phase.foo>3%",
            "calls>3ms",
            "dtype>1",
        ),
        *("", ">3%", "peak_memory>5ms", "step>5MiB", "gpu_idle>3ms", "step>-3%"),
    ],
)
def test_a_bad_limit_is_one_clear_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        comparing.gates([text])
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_a_certain_and_larger_change_fails(tmp_path: Path) -> None:
    found = of_folders(folders(tmp_path, BASE, changed(0, ms=8)))  # 23 ms, then 25 ms: +8.7 %
    limits = ("step>3%", "step>30%", "step>1ms", "step>4ms", "phase.forward>3%", "phase.backward>3%")
    assert outcomes(found, *limits) == ["failed", "passed", "failed", "passed", "failed", "passed"]


def test_a_faster_version_passes(tmp_path: Path) -> None:
    assert outcomes(of_folders(folders(tmp_path, changed(0, ms=8), BASE)), "step>3%") == ["passed"]


def test_one_run_a_side_decides_counts_only(tmp_path: Path) -> None:
    after = Version(changed(0, ms=60, number=2, inputs="f64[16,32]"))
    found = compare(tmp_path, Version(), after)
    limits = ("step>3%", "calls>0", "calls>5", "calls>10%", "dtype", "shape", "launches>0", "start_up>1%")
    expected = ["cannot tell", "failed", "passed", "failed", "failed", "passed", "cannot tell", "cannot tell"]
    assert outcomes(found, *limits) == expected


def test_what_cannot_be_told_fails_only_if_asked(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version())
    results = comparing.judged(found, comparing.gates(["step>3%"]))
    assert [each.why[:7] for each in results] == ["one run"]
    assert comparing.exit_code(results) == 0
    assert comparing.exit_code(results, fail_on_unknown=True) == 5


def test_an_interval_around_the_limit_cannot_tell(tmp_path: Path) -> None:
    found = of_folders(folders(tmp_path, BASE, BASE))
    figures = {**found.figures, "start_up": Change(100, 102, -3, 7)}
    wide = replace(found, figures=figures)
    assert outcomes(wide, "start_up>5%", "start_up>8%", "start_up>1%") == [
        "cannot tell",
        "passed",
        "cannot tell",
    ]
    certain = replace(found, figures={"start_up": Change(100, 104, 1, 7)})
    assert outcomes(certain, "start_up>3%", "start_up>5%") == ["failed", "cannot tell"]


def test_what_is_not_comparable_cannot_be_told(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(recording={"python": "off"}))
    assert comparing.judged(found, comparing.gates(["step>3%"]))[0].outcome is Outcome.UNKNOWN
