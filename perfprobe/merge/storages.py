"""Pairs allocations with frees, so that each storage has a start and an end. Works in stretches of time.

Addresses are reused, so rows are paired by address and time: a free ends the last allocation before it. The
free of a storage that is older than the recording has no allocation, and is left out. From one stretch to the
next, only storages that are still alive are kept. A recorded block has the rows of one thread: those of
several are sorted by time, in stretches of blocks that overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, among
from perfprobe.tables.events import Threads
from perfprobe.tables.memory import MemoryBlocks, MemoryChanges, MemoryEvent, MemoryRows, NumberedStorages
from perfprobe.tables.recording import Recording, in_range
from perfprobe.tables.stacks import Stacks

_LARGEST_BYTES = 1 << 46  # larger sizes are damaged, and a few of them would make sums overflow
FEWEST_ROWS = 131_072  # in a stretch of time, except the last one
FOREVER_NS = 2**62


@dataclass
class PairedRows:
    """Yields the stretches.

    lost: number of missing frees. strays: number of rows with invalid references. older_bytes: size of
    parameters and buffers without an allocation. They are complete after the last stretch.
    """

    recording: Recording
    blocks: MemoryBlocks
    lost: int = 0
    strays: int = 0
    older_bytes: int = 0
    _begun: int = 0
    _older: set[int] = field(default_factory=set)
    _alive: NumberedStorages = field(default_factory=NumberedStorages.empty)  # sorted by address

    def __iter__(self) -> Iterator[MemoryChanges]:
        # No variable here: it would keep a stretch in memory until the next one is made.
        return starmap(self._changes, in_order(self.blocks, lambda: max(FEWEST_ROWS, len(self._alive) // 2)))

    def _changes(self, rows: MemoryRows, until_ns: int) -> MemoryChanges:
        begun, ended = self._paired(self._sound(rows))
        if until_ns >= FOREVER_NS:
            ended = NumberedStorages.concat([ended, self._alive])
            self._alive = NumberedStorages.empty()
        return MemoryChanges(begun, ended, until_ns)

    def _sound(self, rows: MemoryRows) -> MemoryRows:
        is_sound = (rows.size_bytes <= _LARGEST_BYTES) & (rows.time_ns >= 0)
        rows = rows if bool(is_sound.all()) else rows.take(is_sound)
        thread, stray_threads = in_range(rows.thread, len(self.recording[Threads]))
        stack, stray_stacks = in_range(rows.stack, len(self.recording[Stacks]))
        self.strays += stray_threads + stray_stacks
        if stray_threads + stray_stacks == 0:
            return rows
        return MemoryRows(**{**rows.columns(), "thread": thread, "stack": stack})

    def _paired(self, rows: MemoryRows) -> tuple[NumberedStorages, NumberedStorages]:
        """Returns the storages that begin, and those that end, in rows sorted by time."""
        begins = np.flatnonzero(rows.event == MemoryEvent.ALLOCATED)
        begins = begins[np.lexsort((rows.storage[begins], rows.time_ns[begins]))]
        begun = _begun(rows.take(begins), self._begun)
        self._begun += len(begun)
        is_met = among(self._alive.storage, rows.storage)
        known = NumberedStorages.concat([self._alive.take(is_met), begun])
        place = np.append(np.full(len(known) - len(begins), -1, np.intp), begins)
        end_ns, freed_thread = self._ends(known, place, rows)
        named = self._named(known, end_ns, rows)
        changed: dict[str, Any] = {"end_ns": end_ns, "freed_thread": freed_thread, "named": named}
        known = NumberedStorages(**{**known.columns(), **changed})
        is_ended = end_ns >= 0
        alive = NumberedStorages.concat([self._alive.take(~is_met), known.take(~is_ended)])
        self._alive = alive.take(np.argsort(alive.storage, kind="stable"))
        ended = np.flatnonzero(is_ended)
        return begun, known.take(ended[np.argsort(end_ns[ended], kind="stable")])

    def _ends(self, known: NumberedStorages, place: Rows, rows: MemoryRows) -> tuple[Int64, Int32]:
        """Returns when each storage ended and by which thread, -1 for neither. place: of its row; -1 if
        earlier.
        """
        frees = np.flatnonzero(rows.event == MemoryEvent.FREED)
        storage = np.append(known.storage, rows.storage[frees])
        order = np.lexsort((np.append(place, frees), storage))
        is_begin = order < len(known)
        begins = np.flatnonzero(is_begin[:-1] & (storage[order[1:]] == storage[order[:-1]]))
        own, following = order[begins], order[begins + 1]
        is_lost = following < len(known)
        self.lost += int(np.count_nonzero(is_lost))
        time_ns = np.append(known.start_ns, rows.time_ns[frees])
        thread = np.append(np.full(len(known), -1, np.int32), rows.thread[frees])
        end_ns = np.full(len(known), -1, np.int64)
        freed_thread = np.full(len(known), -1, np.int32)
        end_ns[own], freed_thread[own] = time_ns[following], thread[following]
        return end_ns, freed_thread

    def _named(self, known: NumberedStorages, end_ns: Int64, rows: MemoryRows) -> Int8:
        """Returns the contents of each storage, such as a parameter, as far as they were recorded."""
        is_name = (rows.event != MemoryEvent.ALLOCATED) & (rows.event != MemoryEvent.FREED)
        named = known.named.copy()
        if not bool(is_name.any()):
            return named
        names = rows.take(is_name)
        names = names.take(np.lexsort((names.time_ns, names.storage)))
        place = _last_before(known, names)
        is_known = place >= 0
        is_known[is_known] &= _alive_at(end_ns[place[is_known]], names.time_ns[is_known])
        named[place[is_known]] = names.event[is_known]
        self._note_older(names.take(~is_known))
        return named

    def _note_older(self, names: MemoryRows) -> None:
        for storage, size_bytes in zip(names.storage.tolist(), names.size_bytes.tolist(), strict=True):
            if storage not in self._older:
                self._older.add(storage)
                self.older_bytes += size_bytes


def _begun(rows: MemoryRows, first: int) -> NumberedStorages:
    return NumberedStorages(
        start_ns=rows.time_ns,
        end_ns=np.full(len(rows), -1, np.int64),
        thread=rows.thread,
        freed_thread=np.full(len(rows), -1, np.int32),
        size_bytes=rows.size_bytes,
        stack=rows.stack,
        named=np.zeros(len(rows), np.int8),
        number=np.arange(first, first + len(rows), dtype=np.int64),
        storage=rows.storage,
    )


def _last_before(known: NumberedStorages, names: MemoryRows) -> Rows:
    """Returns for each name the last allocation of its storage before it, -1 for none."""
    storage = np.append(known.storage, names.storage)
    time_ns = np.append(known.start_ns, names.time_ns)
    is_name = np.arange(len(storage)) >= len(known)
    order = np.lexsort((is_name, time_ns, storage))
    place = np.arange(len(order))
    last = np.maximum.accumulate(np.where(is_name[order], -1, place))
    own = order[np.maximum(last, 0)]
    own = np.where((last >= 0) & (storage[own] == storage[order]), own, -1)
    found = np.full(len(names), -1, np.intp)
    is_own = is_name[order]
    found[order[is_own] - len(known)] = own[is_own]
    return found


def _alive_at(end_ns: Int64, time_ns: Int64) -> Mask:
    return np.asarray((end_ns < 0) | (end_ns >= time_ns))


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
