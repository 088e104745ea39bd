"""Drift of step times and regular spikes, from tables made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from perfprobe.analyse.kept.joined import joined
from perfprobe.report.rows.kept import SlowStepRow, cause_rows
from perfprobe.report.section import kept
from perfprobe.tables.kept import KeptPart, KeptRun, Stretch
from perfprobe.tables.trace import Line
from tests.snapshots import Snapshot

STEPS = 100  # in a stretch of a second
SCAN, REST, HEAVY = (Line("train.py", number, "main") for number in (10, 11, 12))


def stretch(at: int, median_ns: int, slow: int = 0, waited_ns: int | None = None) -> Stretch:
    """waited_ns: in each step."""
    waited = None if waited_ns is None else STEPS * waited_ns
    return Stretch(at, at + 1, STEPS, slow, STEPS * median_ns, median_ns, median_ns, median_ns, waited)


def part(seconds: range, every: int = 1) -> KeptPart:
    """SCAN takes 1 ms more each second, REST always 5 ms. Sums of lines are written every few seconds."""
    stretches = [stretch(at, 5_000_000 + at * 1_000_000) for at in seconds]
    lines, scanned_ns, steps = [], 0, 0
    for at in seconds:
        scanned_ns, steps = scanned_ns + STEPS * at * 1_000_000, steps + STEPS
        if (at + 1) % every == 0:
            until_s = at + 1.2
            lines += [(until_s, SCAN, scanned_ns), (until_s, REST, steps * 5_000_000)]
            scanned_ns = steps = 0
    return KeptPart("run.perfprobe", stretches, [], lines, STEPS * len(stretches), [])


def drift_of(parts: Sequence[KeptPart]) -> Any:
    found = joined(parts).drift
    assert found is not None
    return found


@pytest.mark.parametrize("every", [1, 2, 5])
def test_the_line_that_grows_is_named_with_its_time_in_a_step(every: int) -> None:
    found = drift_of([part(range(20, 40), every), part(range(20), every)])
    assert found.is_clear
    assert (found.medians.first_ns, found.medians.last_ns) == (8_000_000, 40_000_000)
    (line,) = found.lines
    assert line.line == SCAN
    first, last = range(0, 8 // every * every), range(40 - 8 // every * every, 40)
    assert line.time_ns == 1e6 * (sum(last) / len(last) - sum(first) / len(first))


def test_steady_steps_have_no_drift() -> None:
    steady = KeptPart("run.perfprobe", [stretch(at, 5_000_000) for at in range(40)], [], [], 4_000, [])
    assert not drift_of([steady]).is_clear


def beside(grows_ns: int, neighbour_ns: int) -> KeptPart:
    """Each second, REST takes so much longer, and another process makes each step wait so much longer."""
    stretches, lines = [], []
    for at in range(40):
        own_ns, waited_ns = 5_000_000 + at * grows_ns, at * neighbour_ns
        stretches.append(stretch(at, own_ns + waited_ns, waited_ns=waited_ns if at else None))
        # Samples show time, waiting included.
        shared = (own_ns + waited_ns) / own_ns
        lines += [(at + 1.2, SCAN, round(STEPS * 2_000_000 * shared))]
        lines += [(at + 1.2, REST, round(STEPS * (own_ns - 2_000_000) * shared))]
    return KeptPart("run.perfprobe", stretches, [], lines, 40 * STEPS, [])


def test_waiting_for_a_processor_is_no_drift_of_the_program() -> None:
    found = drift_of([beside(0, 200_000)])
    assert found.medians.is_clear
    assert not found.is_clear
    assert found.own.share == 0
    assert found.lines == []


def test_drift_beside_a_growing_neighbour_is_that_of_the_line() -> None:
    found = drift_of([beside(50_000, 200_000)])
    assert found.is_clear
    assert found.own.last_ns - found.own.first_ns == pytest.approx(32 * 50_000, rel=0.02)
    (line,) = found.lines
    assert line.line == REST
    assert line.time_ns == pytest.approx(32 * 50_000, rel=0.01)


def test_a_short_run_has_no_drift() -> None:
    assert joined([part(range(5))]).drift is None


def spikes(numbers: Sequence[int], line: Line) -> list[Any]:
    return [SimpleNamespace(step=number, line=line, more_ns=10) for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "every"),
    [
        ((499, 999, 1499, 1999), 500),
        ((499, 999, 1200, 1499, 1999, 2499), 500),  # one more by chance
        ((499, 999, 1999, 2499, 2999), 500),  # one was not slow enough
        ((499, 999, 1499), None),
        ((3, 50, 90, 400, 777, 900), None),
        ((7, 8, 9, 10, 11), None),  # one stretch of time
    ],
)
def test_regular_spikes_are_found_with_their_distance(numbers: Sequence[int], every: int | None) -> None:
    rows = cause_rows([*spikes(numbers, HEAVY), *spikes([2, 5], REST)])
    assert [(row.line, row.steps, row.every) for row in rows] == [
        (HEAVY, len(numbers), every),
        (REST, 2, None),
    ]


def test_parts_are_in_the_order_of_time() -> None:
    run: KeptRun = joined([part(range(3, 6)), part(range(3))])
    assert [each.start_s for each in (each for one in run.parts for each in one.stretches)] == [*range(6)]


def slow(number: int, waited_ns: int, line: Line) -> SlowStepRow:
    """A step that took 10 ms longer, of which it waited so long for a processor."""
    causes = [("waiting for a processor", waited_ns), ("running", 10_000_000 - waited_ns)]
    return SlowStepRow(
        step=number,
        start_s=0.0,
        time_ns=12_000_000,
        more_ns=10_000_000,
        is_kept=True,
        is_partial=False,
        causes=sorted(causes, key=lambda cause: -cause[1]),
        phases=[],
        line=line,
        line_ns=9e6,
        operator=None,
    )


def test_no_line_is_blamed_for_waiting_for_a_processor(snapshot: Snapshot) -> None:
    waiting = [slow(number, 8_000_000, REST) for number in range(5)]
    own = [slow(number, 1_000_000, HEAVY) for number in (40, 71)]
    texts = [block.text for block in kept._left([*waiting, *own], 7)]
    snapshot("\n".join(texts))
