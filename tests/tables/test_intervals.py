"""The interval that a time is in, compared with a search through all of them."""

from __future__ import annotations

import random

import numpy as np

from perfprobe.tables.intervals import around


def test_times_are_in_the_intervals_that_a_search_finds() -> None:
    rng = random.Random(5)
    for count in (0, 1, 2, 30):
        bounds = sorted(rng.sample(range(200), 2 * count))
        intervals = list(zip(bounds[::2], bounds[1::2], strict=True))
        times = list(range(-3, 205))
        expected = [
            next((row for row, (start, end) in enumerate(intervals) if start <= time < end), -1)
            for time in times
        ]
        starts, ends = (np.array(column, np.int64) for column in (bounds[::2], bounds[1::2]))
        assert around(starts, ends, np.array(times, np.int64)).tolist() == expected


def test_an_interval_of_no_length_holds_nothing() -> None:
    at = np.array([5], np.int64)
    assert around(at, at, np.array([4, 5, 6], np.int64)).tolist() == [-1, -1, -1]
