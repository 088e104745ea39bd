"""Growth in a step and memory alive for backward, for storages made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfprobe.analyse.memory.categories import categories, lives
from perfprobe.analyse.memory.moments import Moments, Spans
from perfprobe.analyse.memory.steps import AliveForBackward, Growth
from perfprobe.tables.columns import Int64
from perfprobe.tables.memory import MemoryCategory, Storages
from perfprobe.tables.trace import Phase

STEP_NS, STEPS = 100, 20


def storages(*rows: tuple[int, int, int]) -> Storages:
    """Each row: start, end (-1 for never), size."""
    start_ns, end_ns, size_bytes = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    none = np.full(len(rows), -1, np.int32)
    return Storages(start_ns, end_ns, none, none, size_bytes, none, np.zeros(len(rows), np.int8))


def spans(first: int, last: int, steps: int = STEPS) -> Spans:
    """A span in each step. first, last: its start and end within the step."""
    begin_ns = np.arange(steps, dtype=np.int64) * STEP_NS
    return Spans(begin_ns + first, begin_ns + last)


def moments() -> Moments:
    """Steps whose backward is from 40 to 80, and whose optimizer is from 80 to 95."""
    counts = np.ones(STEPS, np.bool_)
    return Moments(spans(0, STEP_NS), counts, spans(40, 80), np.arange(STEPS), spans(80, 95))


def grown(found: Storages) -> int:
    growth = Growth(moments())
    for row in range(len(found)):  # one by one, as they may come
        growth.add(found.take(slice(row, row + 1)), np.zeros(1, np.intp))
    bytes_a_step: Int64 | None = growth.result(np.zeros(1, np.intp), 1)
    assert bytes_a_step is not None
    return int(bytes_a_step[0])


@pytest.mark.parametrize("every", [1, 2, 3], ids=["each step", "every second", "every third"])
def test_a_leak_grows_by_its_mean(every: int) -> None:
    leaked = [(step * STEP_NS + 20, -1, 600) for step in range(0, STEPS, every)]
    assert grown(storages(*leaked)) == pytest.approx(600 / every, rel=0.1)


def test_memory_made_once_or_freed_later_is_not_growth() -> None:
    once = [(5, -1, 10_000), (420, -1, 500)]  # a cache filled in the first step, and one in the fifth
    later = [(step * STEP_NS + 20, step * STEP_NS + 120, 300) for step in range(STEPS)]
    assert grown(storages(*once)) == 0
    assert grown(storages(*later)) == 0


def test_of_several_calls_of_backward_the_one_with_most_memory_alive_counts() -> None:
    backwards = Spans(np.array([20, 60], np.int64), np.array([30, 70], np.int64))
    one = Spans(np.array([0], np.int64), np.array([100], np.int64))
    at = Moments(one, np.ones(1, np.bool_), backwards, np.zeros(2, np.intp), one)
    found = storages((5, 25, 10), (40, 65, 30), (41, 50, 99), (45, -1, 2))
    kinds = categories(found, np.full(4, Phase.FORWARD, np.int8), at)
    for is_summed_early in (False, True):
        alive = AliveForBackward(at)
        alive.add(found, kinds, np.arange(4))
        if is_summed_early:
            alive._add_up()
        assert (alive.result(4).tolist(), alive.steps) == ([0, 30, 0, 2], 1)
    assert kinds[2] == MemoryCategory.TEMPORARY


def test_the_category_changes_when_the_step_ends() -> None:
    found = storages((10, 250, 7), (10, 60, 5), (85, -1, 3), (50, 90, 2))
    phase = np.array([Phase.FORWARD, Phase.FORWARD, Phase.OPTIMIZER, Phase.BACKWARD], np.int8)
    kinds = categories(found, phase, moments())
    names = (MemoryCategory.ACTIVATION, MemoryCategory.ACTIVATION, MemoryCategory.OPTIMIZER)
    assert kinds.tolist() == [*names, MemoryCategory.GRADIENT]
    split = lives(found, kinds, moments())
    own = split.storage == 0
    assert split.category[own].tolist() == [MemoryCategory.ACTIVATION, MemoryCategory.KEPT]
    assert (split.start_ns[own].tolist(), split.end_ns[own].tolist()) == ([10, 100], [100, 250])
