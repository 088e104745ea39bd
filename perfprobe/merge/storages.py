"""Pairs allocations with frees, so that each storage has a start and an end.

Addresses are reused, so rows are paired by address and time: a free ends the last allocation before it. A
free without an allocation before it is of a storage older than the recording, and is left out.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.events import Losses
from perfprobe.tables.memory import MemoryEvent, MemoryRows, Storages, TensorMemory
from perfprobe.tables.recording import Recording

_LARGEST_BYTES = 1 << 46  # larger sizes come from damaged files; a few of them would overflow sums


def tensor_memory(recording: Recording) -> tuple[TensorMemory | None, tuple[Losses, ...]]:
    """Returns the storages, None if no memory was recorded, and losses."""
    rows = recording[MemoryRows]
    is_sound = (rows.size_bytes <= _LARGEST_BYTES) & (rows.time_ns >= 0)
    if not bool(is_sound.all()):  # millions of rows are copied only if some are left out
        rows = rows.take(is_sound)
    if len(rows) == 0:
        return None, ()
    rows = rows.take(np.lexsort((rows.time_ns, rows.storage)))
    is_change = (rows.event == MemoryEvent.ALLOCATED) | (rows.event == MemoryEvent.FREED)
    changes, names = rows.take(is_change), rows.take(~is_change)
    begins, end_ns, freed_thread, lost = _ends(changes)
    own = changes.take(begins)
    named, older_bytes = _named(own, end_ns, names)
    order = np.argsort(own.time_ns, kind="stable")
    found = Storages(
        start_ns=own.time_ns[order],
        end_ns=end_ns[order],
        thread=own.thread[order],
        freed_thread=freed_thread[order],
        size_bytes=own.size_bytes[order],
        stack=own.stack[order],
        named=named[order],
    )
    reason = "frees not recorded: their storages end at the next allocation at the same address"
    losses = (Losses.one("memory", reason, lost),) if lost else ()
    return TensorMemory(found, older_bytes), losses


def _ends(rows: MemoryRows) -> tuple[Mask, Int64, np.ndarray, int]:
    """Returns which rows are allocations, end and thread of each free, and how many frees are missing."""
    is_begin = rows.event == MemoryEvent.ALLOCATED
    follows = np.zeros(len(rows), np.bool_)
    follows[:-1] = rows.storage[1:] == rows.storage[:-1]
    following = np.minimum(np.arange(1, len(rows) + 1), max(len(rows) - 1, 0))
    end_ns = np.where(follows, rows.time_ns[following], -1)[is_begin]
    is_lost = follows & is_begin[following] if len(rows) else follows
    thread = np.where(follows & ~is_lost, rows.thread[following], -1).astype(np.int32)[is_begin]
    return is_begin, end_ns, thread, int(np.count_nonzero(is_lost & is_begin))


def _named(own: MemoryRows, end_ns: Int64, names: MemoryRows) -> tuple[np.ndarray, int]:
    """Returns what each storage holds (a parameter, a buffer or 0), and the bytes of parameters and buffers
    whose allocation was not recorded.
    """
    named = np.zeros(len(own), np.int8)
    if len(names) == 0:
        return named, 0
    # Both are ordered by storage and time. A row of `names` belongs to the last allocation before it.
    place = np.zeros(len(names), np.intp)
    keys = np.append(own.storage, names.storage)
    order = np.lexsort((np.append(np.zeros(len(own)), np.ones(len(names))), _times(own, names), keys))
    last = np.maximum.accumulate(np.where(order < len(own), order, -1))
    is_name = order >= len(own)
    place[order[is_name] - len(own)] = last[is_name]
    known = (
        (place >= 0) & (own.storage[place] == names.storage) if len(own) else np.zeros(len(names), np.bool_)
    )
    if len(own):
        known &= (end_ns[place] < 0) | (end_ns[place] >= names.time_ns)
    named[place[known]] = names.event[known]
    older = names.take(~known)
    first = np.append(True, older.storage[1:] != older.storage[:-1])[: len(older)]
    return named, int(older.size_bytes[first].sum())


def _times(own: MemoryRows, names: MemoryRows) -> Int64:
    return np.append(own.time_ns, names.time_ns)
