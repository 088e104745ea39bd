"""Counts of threads and of operators.

The counts between two readings belong to an operator if it nearly fills that time. They are never divided: an
operator that never fills the time between two readings has no counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.analyse.teams.operators import parents
from perfprobe.models.readings import own_threads
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.counters import (
    Counted,
    CounterFindings,
    Counters,
    EventState,
    MemoryTraffic,
    OperatorCounts,
    ThreadCounts,
)
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.intervals import overlaps
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import Trace

_SHORTEST_NS = 50_000  # shorter calls are skipped: they cannot fill the time between two readings
_FILLED = 0.9  # of the time between two readings
_FEWEST = 3  # such readings
_KIND = ("name", "signature", "frame", "phase")


class CountWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._recording = trace.recording
        self._thread_of = self._recording.os_threads()
        rows = self._recording[Counters]
        rows = rows.take(~own_threads(self._recording)[rows.thread] & (rows.end_ns > rows.start_ns))
        thread = self._thread_of[rows.thread]
        self._rows = rows.take(np.lexsort((rows.start_ns, thread)))
        self._threads = self._thread_of[self._rows.thread]
        self._numbers: dict[tuple[int, ...], int] = {}
        self._parts: list[tuple[Int64, Int64]] = []  # row and kind as one number, and the time

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch, as `Trace.operators` yields it."""
        if len(self._rows) == 0:
            return
        first = first_of_each(batch.thread)
        for start, end in zip(first.tolist(), np.append(first[1:], len(batch)).tolist(), strict=True):
            rows = batch.take(slice(start, end))
            chosen = (rows.end_ns - rows.start_ns >= _SHORTEST_NS) & (rows.scope != USER_SCOPE)
            if bool(chosen.any()):
                self._add_thread(int(self._thread_of[rows.thread[0]]), rows.take(chosen))

    def _add_thread(self, thread: int, rows: LinkedOperators) -> None:
        begin, end = np.searchsorted(self._threads, [thread, thread + 1])
        if begin == end:
            return
        kind = self._kinds(rows)
        parent = parents(rows.thread, rows.depth)
        for kinds, sign in ((kind, 1), (np.where(parent >= 0, kind[parent], -1), -1)):
            chosen = np.flatnonzero(kinds >= 0)
            starts, ends = self._rows.start_ns[begin:end], self._rows.end_ns[begin:end]
            at, row, time_ns = overlaps(starts, ends, rows.start_ns[chosen], rows.end_ns[chosen])
            codes = ((at + begin) << 32) + kinds[chosen][row]
            self._parts.append((codes, sign * time_ns))

    def _kinds(self, rows: LinkedOperators) -> Int64:
        keys: list[npt.NDArray[Any]] = [getattr(rows, name) for name in _KIND]
        order, first = sort_by_keys(keys)
        found = np.empty(len(rows), np.int64)
        for at, end in zip(first.tolist(), np.append(first[1:], len(rows)).tolist(), strict=True):
            key = tuple(int(column[order[at]]) for column in keys)
            found[order[at:end]] = self._numbers.setdefault(key, len(self._numbers))
        return found

    def result(self) -> CounterFindings | None:
        """Returns the counts; None if nothing was counted."""
        recording = self._recording
        traffic = recording[MemoryTraffic]
        if len(recording[Counters]) == 0 and len(traffic) == 0:
            return None
        return CounterFindings(
            events=_events(recording),
            threads=self._by_thread(),
            operators=self._by_operator(),
            read_bytes=int(traffic.read_bytes.sum()) if len(traffic) else None,
            written_bytes=int(traffic.written_bytes.sum()) if len(traffic) else None,
            traffic_ns=int((traffic.end_ns - traffic.start_ns).sum()),
        )

    def _by_thread(self) -> ThreadCounts:
        if len(self._rows) == 0:
            return ThreadCounts.empty()
        first = first_of_each(self._threads)
        found = ThreadCounts(
            **_sums(self._rows, np.arange(len(self._rows)), first), thread=self._rows.thread[first]
        )
        return found.take(np.argsort(-found.cpu_ns, kind="stable"))

    def _by_operator(self) -> OperatorCounts:
        """Sums the readings that one kind of operator fills, by kind."""
        if not self._parts:
            return OperatorCounts.empty()
        codes, times_ns = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        order, first = sort_by_keys([codes])
        time_ns = np.add.reduceat(times_ns[order], first)
        row, kind = codes[order[first]] >> 32, codes[order[first]] & 0xFFFFFFFF
        filled = time_ns >= _FILLED * (self._rows.end_ns - self._rows.start_ns)[row]
        row, kind = row[filled], kind[filled]
        if len(row) == 0:
            return OperatorCounts.empty()
        order, first = sort_by_keys([kind])
        looks = np.diff(np.append(first, len(order)))
        keys = np.array(list(self._numbers), np.int64)[kind[order[first]]]
        columns: dict[str, Any] = _sums(self._rows, row[order], first)
        for at, name in enumerate(_KIND):
            columns[name] = keys[:, at].astype(OperatorCounts.dtypes[name])
        found = OperatorCounts(**columns, looks=looks.astype(np.int64))
        found = found.take(found.looks >= _FEWEST)
        return found.take(np.argsort(-found.cpu_ns, kind="stable"))


def _sums(rows: Counters, order: Rows, first: Rows) -> dict[str, Any]:
    """Returns the sums of each group; -1 for what was never counted."""
    found: dict[str, Any] = {}
    for name in Counted.dtypes:
        values = getattr(rows, name)[order]
        known = np.add.reduceat((values >= 0).astype(np.int64), first)
        sums = np.add.reduceat(np.maximum(values, 0), first)
        found[name] = np.where(known > 0, sums, -1)
    return found


def _events(recording: Recording) -> tuple[EventState, ...]:
    """The events as recorded. Entries of a damaged file are left out."""
    listed = recording.fact("counters", "events")
    found = []
    for entry in listed if isinstance(listed, list) else []:
        fields = entry if isinstance(entry, dict) else {}
        name, reason, remedy = (fields.get(key) for key in ("name", "reason", "remedy"))
        if isinstance(name, str) and isinstance(reason, str) and isinstance(remedy, str):
            found.append(EventState(name, fields.get("in_kernel") is not False, reason, remedy))
    return tuple(found)
