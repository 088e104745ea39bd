"""The innermost interval around points in time, compared with a search of all intervals."""

from __future__ import annotations

import random

import numpy as np
import pytest

from perfprobe.merge.innermost import Innermost

Interval = tuple[int, int, int]  # thread, start, end


def nested(chance: random.Random, thread: int, start_ns: int, end_ns: int, depth: int) -> list[Interval]:
    """Nested intervals, in the order in which they end."""
    found: list[Interval] = []
    at = start_ns
    while at < end_ns and chance.random() < 0.95:
        begin = min(at + chance.randint(0, 20), end_ns)
        at = chance.randint(begin, min(begin + (end_ns - start_ns) // 2, end_ns))
        if depth < 6:
            found += nested(chance, thread, begin, at, depth + 1)
        found.append((thread, begin, at))
    return found


def slow(intervals: list[Interval], thread: int, time_ns: int) -> int:
    around = (
        at
        for at, (own, start_ns, end_ns) in enumerate(intervals)
        if own == thread and start_ns <= time_ns <= end_ns
    )
    return next(around, -1)


def found_in_batches(points: list[tuple[int, int]], intervals: list[Interval], batch: int) -> list[int]:
    thread, time_ns = np.array(points, np.int64).reshape(-1, 2).T
    search = Innermost(thread, time_ns)
    found = np.full(len(points), -1)
    for first in range(0, len(intervals), batch):
        rows = np.array(intervals[first : first + batch], np.int64).T
        at, around = search.find(*rows)
        assert (found[at] == -1).all()
        found[at] = first + around
    return found.tolist()


@pytest.mark.parametrize("batch", [1, 2, 7, 64, 5000])
@pytest.mark.parametrize("seed", range(6))
def test_results_agree_with_a_search_of_all_intervals(seed: int, batch: int) -> None:
    chance = random.Random(seed)
    lanes = [nested(chance, thread, 0, 2000, 0) for thread in (3, 9, -1)]
    intervals: list[Interval] = []
    while any(lanes):
        lane = chance.choice([lane for lane in lanes if lane])
        size = chance.randint(1, 9)
        intervals += lane[:size]
        del lane[:size]
    points = [
        (chance.choice([3, 9, 5, -1]), chance.choice([-1, chance.randint(-50, 2050)])) for _ in range(900)
    ]
    wanted = [slow(intervals, *point) if point[0] != -1 else -1 for point in points]
    assert found_in_batches(points, intervals, batch) == wanted
    assert sum(at >= 0 for at in wanted) > 100


def test_intervals_that_end_before_they_start_contain_nothing() -> None:
    intervals = [(1, 10, 5), (1, 0, 20), (1, 30, -1), (1, 22, 40), (1, 39, 41), (1, 3, 2)]
    assert found_in_batches([(1, 7), (1, 12), (1, 35), (1, 21)], intervals, 9) == [1, 1, 3, -1]


def test_without_intervals_nothing_is_found() -> None:
    assert found_in_batches([], [(1, 0, 5)], 1) == []
    assert found_in_batches([(1, 3)], [], 1) == [-1]
