"""An arena's pages exist only once they are taken."""

import os
from itertools import pairwise

import pytest

from perfprobe.bench.arena import Arena, set_floats

torch = pytest.importorskip("torch")

FLOATS = 16 << 20


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_pages_are_taken_in_parts_and_only_once() -> None:
    began = resident_bytes()
    arena = Arena(torch, "cpu", FLOATS, 1)
    seen = []
    for part in (0.0, 0.25, 0.25, 0.75, 1.0, 1.0):
        arena.take(part)
        seen.append((resident_bytes() - began) / (FLOATS * 4))
    assert seen == pytest.approx([0.0, 0.25, 0.25, 0.75, 1.0, 1.0], abs=0.1)


def test_views_are_aligned_to_lines_and_contain_ones() -> None:
    arena = Arena(torch, "cpu", 4096, 1)
    sets = arena.views(100, 3)
    assert len(sets) == 4096 // set_floats(100, 3) == 12
    flat = [view for views in sets for view in views]
    begins = [view.data_ptr() for view in flat]
    assert all(later - earlier >= 400 for earlier, later in pairwise(begins))
    assert all((begin - begins[0]) % 64 == 0 for begin in begins)
    assert all((view == 1.0).all() for view in flat)


@pytest.mark.parametrize(
    ("count", "sets"), [(500, 8), (2048, 8), (4096, 4), (7000, 2), (10_000, 1), (100_000, 1)]
)
def test_large_operands_have_few_sets(count: int, sets: int) -> None:
    views = Arena(torch, "cpu", 4096, set_floats(count, 1)).views(count, 1)
    assert [len(view) for (view,) in views] == [count] * sets


@pytest.mark.parametrize("buffers", [1, 2, 3])
def test_the_arena_consists_of_equal_buffers(buffers: int) -> None:
    whole = Arena(torch, "cpu", 10_000, 1).whole(buffers)
    assert [len(view) for view in whole] == [10_000 // buffers // 16 * 16] * buffers
