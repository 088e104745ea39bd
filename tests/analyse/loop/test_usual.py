"""The phase of a gap without samples, from samples in the same gap of other steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from perfprobe.analyse.loop.timeline import Segments
from perfprobe.analyse.loop.usual import UsualPhases
from perfprobe.tables.columns import Int8
from perfprobe.tables.steps import StepPhase

DATA, COPY, NONE = StepPhase.DATA, StepPhase.COPY, -1
STEP = 100  # ns: 20 in operators of stack 3, 20 in those of stack 5, and a gap


def segments(steps: int) -> Segments:
    """Two segments a step, one behind the other. Behind the second is a gap of 60 ns."""
    begins = np.arange(steps, dtype=np.int64) * STEP
    start_ns = np.stack([begins, begins + 20], axis=1).ravel()
    stacks = np.tile(np.array([3, 5], np.int32), steps)
    zero = np.zeros(len(start_ns), np.int32)
    return Segments(
        start_ns=start_ns,
        end_ns=start_ns + 20,
        phase=np.full(len(start_ns), StepPhase.FORWARD, np.int8),
        anchor=zero,
        first=stacks,
        last=stacks,
        first_signature=zero,
        last_signature=zero,
        is_trained=zero > 0,
        call=zero - 1,
    )


def usual(steps: int, samples: Sequence[tuple[int, int]], fences: Sequence[int], at: Sequence[int]) -> Int8:
    """samples: time and phase. at: the times that are asked for."""
    rows = segments(steps)
    time_ns, phase = (np.array(values) for values in zip(*samples, strict=True))
    found = UsualPhases(rows, np.array(fences, np.int64), time_ns - 5, time_ns, phase.astype(np.int8))
    asked = np.array(at, np.int64)
    return found.at(asked, np.searchsorted(rows.start_ns, asked, "right") - 1)


@pytest.mark.parametrize(
    ("samples", "fences", "expected"),
    [
        ([(70, DATA)], [], [DATA, DATA, DATA, NONE]),
        ([(70, DATA), (170, COPY), (270, COPY)], [], [COPY, COPY, COPY, NONE]),
        ([(30, DATA)], [], [NONE] * 4),  # within an operator: it says nothing about gaps
        # The gap of the first step has a range: it is another place than the others.
        ([(90, DATA), (170, COPY)], [80, 85], [NONE, COPY, COPY, NONE]),
        # Each gap has a range. The time before it, asked for here, is another place than that behind it.
        ([(70, COPY), (95, DATA), (195, DATA)], [80, 85, 180, 185, 280, 285], [COPY, COPY, COPY, NONE]),
    ],
)
def test_most_samples_of_the_same_place_count(
    samples: list[tuple[int, int]], fences: list[int], expected: list[int]
) -> None:
    assert usual(4, samples, fences, [60, 160, 260, 360]).tolist() == expected


def test_nothing_is_known_before_and_behind_all_operators() -> None:
    assert usual(1, [(70, DATA), (-5, DATA)], [], [-5, 70]).tolist() == [NONE, NONE]
    assert usual(0, [(70, DATA)], [], [70]).tolist() == [NONE]
