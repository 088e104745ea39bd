"""An arena's pages: there only from when they are taken on."""

import os
from itertools import pairwise

import pytest

from perfprobe.bench.arena import Arena, set_floats

torch = pytest.importorskip("torch")

FLOATS = 16 << 20


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_pages_are_taken_part_by_part_and_once() -> None:
    began = resident_bytes()
    arena = Arena(torch, "cpu", FLOATS, FLOATS)
    seen = []
    for part in (0.0, 0.25, 0.25, 0.75, 1.0, 1.0):
        arena.take(part)
        seen.append((resident_bytes() - began) / (FLOATS * 4))
    assert seen == pytest.approx([0.0, 0.25, 0.25, 0.75, 1.0, 1.0], abs=0.1)


def test_views_lie_apart_on_lines_and_hold_ones() -> None:
    arena = Arena(torch, "cpu", 4096, 4096)
    sets = arena.views(100, 3)
    assert len(sets) == 4096 // set_floats(100, 3) == 12
    flat = [view for views in sets for view in views]
    begins = [view.data_ptr() for view in flat]
    assert all(later - earlier >= 400 for earlier, later in pairwise(begins))
    assert all((begin - begins[0]) % 64 == 0 for begin in begins)
    assert all((view == 1.0).all() for view in flat)


def test_what_is_larger_than_a_rotation_is_one_set() -> None:
    ((view,),) = Arena(torch, "cpu", 10_000, 4096).views(10_000, 1)
    assert len(view) == 10_000
