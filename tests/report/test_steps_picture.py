"""The picture of steps, drawn from tables by hand: legends, cuts and notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from perfprobe.report.picture.step_axes import highest_ns
from perfprobe.report.picture.steps import fill, said, shown_of
from perfprobe.tables.steps import (
    Loops,
    Phases,
    StartUp,
    StepEvents,
    StepKind,
    StepLooks,
    StepMark,
    StepPhase,
    StepPhases,
    Steps,
    StepTimes,
)
from tests.report.calling import table
from tests.snapshots import Snapshot

figures = pytest.importorskip("matplotlib.figure")

MS = 1_000_000
PHASES = {StepPhase.FORWARD: 0.6, StepPhase.BACKWARD: 0.3995, StepPhase.LOGGING: 0.0005}


def times(durations_ns: Sequence[int], marks: Sequence[int] = ()) -> StepTimes:
    """Consecutive steps with the same phases; the first ones are marked."""
    marks = [*marks, *[StepMark.STEADY] * (len(durations_ns) - len(marks))]
    ends_ns = np.cumsum(durations_ns)
    steady_ns = sorted(took for took, mark in zip(durations_ns, marks, strict=True) if mark == 0)
    steps = [
        {"start_ns": int(end_ns) - took_ns, "end_ns": int(end_ns), "mark": int(mark), "loop": 0}
        for took_ns, end_ns, mark in zip(durations_ns, ends_ns, marks, strict=True)
    ]
    parts = [
        {"step": at, "phase": int(phase), "time_ns": int(share * took_ns)}
        for at, took_ns in enumerate(durations_ns)
        for phase, share in PHASES.items()
    ]
    whole_ns = sum(steady_ns)
    loop = {"kind": int(StepKind.TRAINING), "steps": len(steps), "steady": len(steady_ns)}
    loop |= {"median_ns": steady_ns[len(steady_ns) // 2], "p95_ns": steady_ns[-1], "total_ns": whole_ns}
    phases = [
        {"phase": int(phase), "time_ns": int(share * whole_ns), "loop": 0} for phase, share in PHASES.items()
    ]
    return StepTimes(
        loops=table(Loops, [loop]),
        steps=table(Steps, steps),
        events=StepEvents.empty(),
        step_phases=table(StepPhases, parts),
        phases=table(Phases, phases),
        looks=StepLooks.empty(),
        is_next=np.empty(0, np.bool_),
        start_up=StartUp.empty(),
        after=StartUp.empty(),
        start_up_ns=0,
    )


def drawn(found: StepTimes) -> Any:
    """The figure as it is written. Its axes are phases, durations and shares."""
    figure = figures.Figure(figsize=(13, 7.5), dpi=120, layout="constrained")
    fill(figure, found, shown_of(found))
    figure.draw_without_rendering()
    return figure


def ticks(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


@pytest.mark.parametrize(
    "durations_ns", [[20 * MS] * 5, [MS] * 5000, [MS] * 30 + [500 * MS], [2_000 * MS, 300 * MS, 310 * MS]]
)
def test_legends_do_not_cover_steps(durations_ns: list[int]) -> None:
    above, below, _ = drawn(times(durations_ns, [StepMark.WARM_UP])).axes
    for axes in (above, below):
        assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1
    assert above.get_window_extent().x0 == below.get_window_extent().x0


def test_a_legend_with_all_phases_covers_neither_title_nor_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = drawn(times([10 * MS] * 8)).axes[0].get_window_extent().width
    monkeypatch.setattr(f"{__name__}.PHASES", dict.fromkeys(StepPhase, 1 / len(StepPhase)))
    figure = drawn(times([10 * MS] * 8))
    above, below, _ = figure.axes
    assert len(above.get_legend().get_texts()) == len(StepPhase)
    assert above.get_legend().get_window_extent().y1 <= above._left_title.get_window_extent().y0
    assert above.get_legend().get_window_extent().x1 <= above.get_window_extent().x1
    assert above._left_title.get_window_extent().y1 <= figure.bbox.y1
    assert above.get_window_extent().y0 >= below._left_title.get_window_extent().y1
    assert above.get_window_extent().width > 0.9 * usual


@pytest.mark.parametrize("longest_ns", [3 * MS, 100 * MS, 9_000 * MS])
def test_times_have_units_on_every_scale(longest_ns: int) -> None:
    _, below, _ = drawn(times([200_000] * 50 + [longest_ns])).axes
    assert (below.get_yscale() == "log") is (longest_ns > 4 * MS)
    assert len(ticks(below.yaxis)) >= 3
    assert all(re.fullmatch(r"0|[\d.]+ (ns|us|ms|s)", text) for text in ticks(below.yaxis))
    top_ns = below.get_ylim()[1]
    assert top_ns > longest_ns  # a point at the frame would be cut


def test_a_much_longer_step_is_cut_off_with_a_note(snapshot: Snapshot) -> None:
    above, _, _ = drawn(times([10 * MS] * 40 + [500 * MS])).axes
    titles = {"cut": above.get_title("left")}
    assert 10 * MS < above.get_ylim()[1] < 20 * MS
    above, _, _ = drawn(times([10 * MS] * 40 + [30 * MS])).axes
    titles["whole"] = above.get_title("left")
    assert above.get_ylim()[1] > 30 * MS
    assert highest_ns(np.zeros(3)) == 1.0
    snapshot(**titles)


def test_many_steps_are_drawn_as_means() -> None:
    above, below, _ = drawn(times([MS] * 5000)).axes
    assert above.get_title("left").endswith("mean of 25)")
    assert len(above.containers[0]) == 200
    assert above.containers[0][0].get_linewidth() == 0
    assert "5,000" in ticks(below.xaxis)


def test_invisible_phases_have_no_label_and_no_bar() -> None:
    above, _, shares = drawn(times([10 * MS] * 8)).axes
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["forward", "backward"]
    assert ticks(shares.yaxis) == ["forward", "backward"]
    assert [text.get_text() for text in shares.texts] == ["60.0 %", "40.0 %"]
    heights = [bar.get_window_extent().height for bar in shares.containers[0]]
    assert max(heights) < shares.get_window_extent().height / 5


def test_excluded_steps_are_counted_and_marked(snapshot: Snapshot) -> None:
    found = times([90 * MS, 20 * MS, *[10 * MS] * 8], [StepMark.WARM_UP, StepMark.OUTLIER])
    _, below, _ = drawn(found).axes
    texts = [text.get_text() for text in below.get_legend().get_texts()]
    snapshot(said(found, "step"), legend="\n".join(texts))
