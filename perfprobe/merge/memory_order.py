"""Sorts rows of memory by time. Each recorded block has the rows of one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from perfprobe.tables.columns import Int64
from perfprobe.tables.memory import MemoryBlocks, MemoryRows

FEWEST_ROWS = 131_072  # in a stretch of time, except the last one
FOREVER_NS = 2**62


def in_order(blocks: MemoryBlocks, fewest: Callable[[], int]) -> Iterator[tuple[MemoryRows, int]]:
    """Yields stretches of time: sorted rows, and the end of the stretch. Equal times are in one stretch.

    Blocks of threads that run at the same time overlap, so a stretch ends where the next unread block begins.
    fewest: returns the smallest number of rows for the next stretch.
    """
    order = np.argsort(blocks.first_ns, kind="stable")
    begin_ns = np.append(blocks.first_ns[order], FOREVER_NS)
    waiting: dict[int, MemoryRows] = {}
    rows = left = 0
    for place, number in enumerate(order.tolist()):
        waiting[number] = blocks.read(number)
        rows += len(waiting[number])
        until_ns = int(begin_ns[place + 1])
        if rows < max(fewest(), 2 * left) and until_ns < FOREVER_NS:
            continue
        ready, waiting = _split(waiting, until_ns)
        if ready or until_ns >= FOREVER_NS:
            yield _sorted(ready), until_ns
        rows = left = sum(map(len, waiting.values()))


def _split(waiting: dict[int, MemoryRows], until_ns: int) -> tuple[list[MemoryRows], dict[int, MemoryRows]]:
    """Returns the rows before a time, and the others by block. Blocks keep the file's order."""
    before, after = [], {}
    for number in sorted(waiting):
        rows = waiting[number]
        is_before = rows.time_ns < until_ns
        if is_before.any():
            before.append(rows.take(is_before))
        if not is_before.all():
            after[number] = rows.take(~is_before)
    return before, after


def _sorted(blocks: list[MemoryRows]) -> MemoryRows:
    """Returns the rows by time. Equal times keep the file's order."""
    rows = MemoryRows.concat(blocks)
    return rows.take(_by_time(rows.time_ns))


def _by_time(time_ns: Int64) -> np.ndarray | slice:
    is_sorted = bool((time_ns[1:] >= time_ns[:-1]).all())
    return slice(None) if is_sorted else np.argsort(time_ns, kind="stable")
