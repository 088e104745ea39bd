"""Which steps are excluded from averages, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfprobe.analyse.loop.marks import marks, with_counted
from perfprobe.tables.steps import StepMark

STEADY, WARM_UP, COMPILE, OUTLIER, CUT, _, COUNTED = StepMark


def found(durations: list[int], **more: list[int]) -> list[int]:
    columns = {
        name: np.array(more.get(name, [0] * len(durations)), np.int64) for name in ("compiling", "again")
    }
    cut = np.array(more.get("cut", [0] * len(durations)), np.bool_)
    return marks(np.array(durations, np.int64), columns["compiling"], columns["again"], cut).tolist()


@pytest.mark.parametrize(
    ("durations", "more", "wanted"),
    [
        ([10] * 6, {}, [STEADY] * 6),
        ([30, *[10] * 9], {}, [WARM_UP, *[STEADY] * 9]),
        ([30, 20, 20, *[10] * 9], {}, [WARM_UP, WARM_UP, *[STEADY] * 10]),  # at most a fifth
        ([10, 10, 10, 90, 10, 10], {}, [STEADY, STEADY, STEADY, OUTLIER, STEADY, STEADY]),
        ([10, 90, 10, 90, 10, 90, 10], {}, [STEADY] * 7),  # a repeated pattern is part of the program
        ([10, 10, 10, 90, 10, 10], {"again": [0, 0, 0, 85, 0, 0]}, [STEADY] * 6),  # and so is saving
        ([90, 10, 10], {"compiling": [50, 0, 0]}, [COMPILE, STEADY, STEADY]),
        ([10, 10, 5], {"cut": [0, 0, 1]}, [STEADY, STEADY, CUT]),
        ([90], {}, [STEADY]),
    ],
)
def test_marks_of_steps(durations: list[int], more: dict[str, list[int]], wanted: list[StepMark]) -> None:
    assert found(durations, **more) == wanted


@pytest.mark.parametrize(
    ("counted", "others", "wanted"),
    [(30, 40, [WARM_UP, *[COUNTED] * 30, *[STEADY] * 40]), (30, 9, [WARM_UP, *[STEADY] * 39])],
)
def test_steps_that_counting_slowed_are_left_out_if_enough_remain(
    counted: int, others: int, wanted: list[StepMark]
) -> None:
    given = np.array([WARM_UP, *[STEADY] * (counted + others)], np.int8)
    start_ns = np.arange(len(given), dtype=np.int64) * 10
    assert with_counted(given, start_ns, 10 * (counted + 1)).tolist() == wanted
    assert with_counted(given, start_ns, 0).tolist() == given.tolist()
