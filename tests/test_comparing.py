"""Two versions compared: recordings made by hand, whose differences are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfprobe import comparing
from perfprobe.comparing import Side
from perfprobe.diagnose.changes import changes
from perfprobe.models.compared import Comparison, Match, PartChange
from perfprobe.models.paired import Verdict
from perfprobe.runs import Run
from perfprobe.tables.run_value import Measure
from perfprobe.tables.steps import StepPhase
from tests.versions import BASE, MS, Call, Version, folders


def compare(tmp_path: Path, before: Version, after: Version, **given: Any) -> Comparison:
    sides = [
        Side(name, [Run(str(version.write(tmp_path / f"{name}.perfprobe")))])
        for name, version in (("a", before), ("b", after))
    ]
    return comparing.compared(*sides, **given)


def of_folders(paths: list[str], **given: Any) -> Comparison:
    sides = [Side(path[-1], [Run(str(each)) for each in sorted(Path(path).iterdir())]) for path in paths]
    return comparing.compared(*sides, **given)


def row(found: Comparison, operator: str, phase: StepPhase = StepPhase.FORWARD) -> PartChange:
    (only,) = [each for each in found.rows if each.part.operator == operator and each.part.phase is phase]
    return only


def changed(at: int, **given: Any) -> list[Call]:
    """The program with one call changed, on lines that all moved by three."""
    calls = [replace(call, at=call.at + 3) for call in BASE]
    calls[at] = replace(calls[at], **given)
    return calls


def test_rows_and_phases_sum_to_the_difference_to_the_digit(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(changed(0, ms=8, backward_ms=9), data_ms=2.5))
    assert found.step_ns is not None
    assert found.step_ns.by == 6.5 * MS
    assert sum(each.time_ns.by for each in found.rows) == pytest.approx(6.5 * MS, abs=1e-3)
    assert sum(each.by for each in found.phases.values()) == pytest.approx(6.5 * MS, abs=1e-3)
    assert found.unattributed_ns == pytest.approx(0, abs=1e-3)
    assert found.shared == 1


def test_the_difference_is_where_it_was_put(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(changed(0, ms=8, backward_ms=9)))
    slower = row(found, "aten::conv2d_backward", StepPhase.BACKWARD)
    assert slower.match is Match.SAME
    assert slower.time_ns.by == pytest.approx(4 * MS)
    assert (slower.calls_ns, slower.each_ns) == pytest.approx((0, 4 * MS))
    assert slower.before is not None
    assert slower.after is not None
    assert (slower.before.line, slower.after.line) == (12, 15)
    assert row(found, "aten::conv2d").time_ns.by == pytest.approx(2 * MS)
    assert row(found, "aten::relu").time_ns.by == pytest.approx(0)


def test_more_calls_and_longer_calls_are_two_addends(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(changed(1, ms=1.5, number=3)))
    more = row(found, "aten::relu")
    assert (more.calls.before, more.calls.after) == (1, 3)
    assert more.calls_ns == pytest.approx(2 * MS)
    assert more.each_ns == pytest.approx(3 * 0.5 * MS)
    assert (more.calls_ns or 0) + (more.each_ns or 0) == more.time_ns.by


def test_new_and_gone_rows(tmp_path: Path) -> None:
    calls = [*BASE[:2], Call("aten::item", 4, 15, "loss = x.sum().item()")]
    found = compare(tmp_path, Version(), Version(calls))
    assert row(found, "aten::item").match is Match.NEW
    assert row(found, "aten::item").time_ns == (0, 4 * MS, None, None, None)
    assert row(found, "aten::linear").match is Match.GONE
    assert row(found, "aten::linear").time_ns.by == -2 * MS


def test_data_loading_is_a_part(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(data_ms=20), Version(data_ms=1))
    assert found.phases[StepPhase.DATA].by == -19 * MS
    assert next(iter(found.phases)) is StepPhase.DATA


def test_one_run_a_side_says_nothing_of_the_step(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(changed(0, ms=60)))
    assert found.verdict() is Verdict.UNKNOWN
    assert (found.unpaired or "").startswith("one run")
    assert found.step is not None
    assert found.step.least == pytest.approx(0.1)


def test_counts_have_no_noise(tmp_path: Path) -> None:
    after = Version(changed(0, number=2, inputs="f64[16,32]"), begun_s=5)
    counts = {each.name: each for each in compare(tmp_path, Version(), after).counts}
    calls = counts["operator calls"]
    assert (calls.before, calls.after, calls.is_certain) == (8, 9, True)
    assert (counts["dtypes"].before, counts["dtypes"].after) == ("f32[16,32]", "f64[16,32]")
    assert counts["dtypes"].line is not None
    assert counts["dtypes"].line[:2] == ("model.py", 15)
    assert not counts["shapes"].differs
    assert not counts["recompiles"].differs


def test_runs_that_took_turns_are_pairs(tmp_path: Path) -> None:
    found = of_folders(folders(tmp_path, BASE, changed(0, ms=8)))
    assert (found.paired, found.unpaired, found.runs) == (True, "", (6, 6))
    assert found.verdict() is Verdict.SLOWER
    slower = row(found, "aten::conv2d").time_ns
    assert row(found, "aten::conv2d").is_certain
    assert slower.low is not None
    assert slower.high is not None
    assert slower.low < slower.by < slower.high
    assert slower.by == pytest.approx(2 * MS, rel=0.05)
    assert not row(found, "aten::linear").time_ns.by > 0.02 * MS


def test_the_same_program_is_not_slower(tmp_path: Path) -> None:
    assert of_folders(folders(tmp_path, BASE, changed(0))).verdict() is Verdict.SAME


def test_a_small_row_that_differs_in_each_pair_is_no_place(tmp_path: Path) -> None:
    found = of_folders(folders(tmp_path, BASE, [*changed(0), Call("aten::neg", 0.05, 19, "-x")]))
    (new,) = [each for each in found.rows if each.match is Match.NEW]
    assert new.time_ns.low is not None
    assert new.time_ns.low > 0
    assert not new.is_certain
    assert changes(found).where is None


def test_runs_that_did_not_take_turns_are_no_pairs(tmp_path: Path) -> None:
    paths = folders(tmp_path, BASE, changed(0, ms=8))
    for at in range(6):
        Version(BASE, begun_s=at).write(tmp_path / "a" / f"{at}.perfprobe")
    found = of_folders(paths)
    assert found.verdict() is Verdict.UNKNOWN
    assert (found.unpaired or "").endswith("in turns")
    assert of_folders(paths, paired=True).verdict() is Verdict.SLOWER


def test_fewer_than_five_pairs_are_too_few(tmp_path: Path) -> None:
    found = of_folders(folders(tmp_path, BASE, changed(0, ms=60), runs=4))
    assert found.verdict() is Verdict.UNKNOWN
    assert found.step is not None
    assert found.step.low is None


def test_another_torch_is_said_and_another_way_to_record_forbids(tmp_path: Path) -> None:
    facts: dict[str, Any] = {"torch": {"version": "2.10.0", "threads": 8}}
    found = compare(tmp_path, Version(), Version(**facts))
    assert [each.text.partition(":")[0] for each in found.mismatches] == ["torch", "torch threads"]
    assert found.is_comparable
    other = compare(tmp_path, Version(), Version(recording={"python": "off"}))
    assert [each.forbids for each in other.mismatches] == [True]
    assert not other.is_comparable


def test_different_programs_are_not_compared(tmp_path: Path) -> None:
    calls = [Call("aten::mm", 30, 40, "return x @ w", module="other", function="Other.forward")]
    found = compare(tmp_path, Version(), Version(calls, data_ms=0, python_ms=0))
    assert found.shared is not None
    assert found.shared < 0.5
    assert not found.is_comparable


def test_a_benchmark_has_steps_without_rows(tmp_path: Path) -> None:
    found = compare(tmp_path, Version(), Version(), measure="wall")
    assert found.measure is Measure.WALL
    assert found.with_rows == (1, 1)
