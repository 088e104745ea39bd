"""The operator around each allocation, compared with looking at all operators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from perfprobe.models import memory_events
from perfprobe.models.memory_events import deepest


def nested(rng: random.Random, begin: int, end: int, depth: int) -> list[tuple[int, int, int]]:
    """Start, end and depth of random operators within a stretch of time; no two times are equal."""
    rows, at = [], begin
    while end - at > 8 and depth < 12:
        start, stop = sorted(rng.sample(range(at, min(end, at + 200)), 2))
        rows += [(start, stop, depth), *nested(rng, start + 1, stop - 1, depth + 1)]
        at = stop + 1
    return rows


@pytest.mark.parametrize("most_levels", [1, 256])
def test_the_deepest_operator_around_a_time(most_levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_events, "_MOST_LEVELS", most_levels)
    rng = random.Random(5)
    rows = nested(rng, 0, 3000, 0)
    times = sorted({*range(3000)} - {time for row in rows for time in row[:2]})[::3]
    start_ns, end_ns, depth = (np.array(column) for column in zip(*rows, strict=True))
    found = deepest(np.array(times), start_ns, end_ns, depth.astype(np.int32))
    for at, row in zip(times, found.tolist(), strict=True):
        around = [each for each in range(len(rows)) if rows[each][0] <= at <= rows[each][1]]
        assert row == max(around, key=lambda each: rows[each][2], default=-1)
    assert len({row[2] for row in rows}) > 4


def test_rows_within_each_other_are_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, plain = [], np.searchsorted

    def counted(*given: Any, **more: Any) -> Any:
        looks.append(given)
        return plain(*given, **more)

    monkeypatch.setattr(np, "searchsorted", counted)
    rows = np.arange(1000)
    found = deepest(np.arange(1000, 2000), rows, 5000 - rows, rows.astype(np.int32))
    assert found.tolist() == [999] * 1000
    assert len(looks) == 2
