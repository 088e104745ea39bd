"""Matches the calls that both sources recorded.

Torch notifies observer and autograd profiler of the same operators, on the same thread, in the same order.
Within a window both have the same sequence of rows, except for those that one of them does not record. Rows
are aligned by order and name, never by times alone.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import Any, TypeAlias

import numpy as np

from perfprobe.merge import agreement, nest
from perfprobe.merge.compiled import OWN_PREFIXES
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.events import AutogradWindows, Losses, Operators, Signatures, Threads
from perfprobe.tables.recording import Recording
from perfprobe.tables.sources import NESTING, ONLY_AUTOGRAD, ONLY_OBSERVER, SIGNATURE, Differences, Sources
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread

COLUMNS = ("start_ns", "end_ns", "thread", "depth", "name", "overload", "signature")
MEMORY = ("allocated_bytes", "freed_bytes")
LONGEST_STRETCH = 4096  # rows that are aligned one by one if the sources differ; the cost is quadratic

NOT_PROFILED = "its thread is not profiled: torch.profiler records the thread that starts it"
BETWEEN = "outside of the windows in which the autograd profiler recorded"
EDGE = "it had begun before the window"
GENERATED = "of torch.compile, Triton or CUDA: perfprobe adds these records, torch has none"
DROPPED = "the observer lost operators: see the losses"

Key: TypeAlias = tuple[str, int, int, str, str, str]  # a row of Differences without its count


class Matching:
    """The autograd profiler's row for each of the observer's rows, and how the two differ."""

    def __init__(self, recording: Recording) -> None:
        """Reads both sources. Raises InputError if that fails."""
        self._recording = recording
        self._ours = _whole(recording, (), False)
        self._theirs = _whole(recording, MEMORY, True)
        self._match: Rows = np.full(len(self._ours), -1, np.intp)
        self._counts: Counter[Key] = Counter()
        generated = [str(text).startswith(OWN_PREFIXES) for text in recording[Strings].text]
        self._generated = np.array([*generated, False])  # by name; the last entry is for no name
        forward_id = np.append(recording[Threads].forward_id, np.int32(-1))
        ours, theirs = (each_thread(forward_id[rows.thread]) for rows in (self._ours, self._theirs))
        profiled = dict(theirs)
        for thread, rows in ours:
            if thread in profiled:
                self._match_thread(rows, profiled[thread], _windows(recording, forward_id, thread))
            else:
                self._count(ONLY_OBSERVER, rows, NOT_PROFILED, named=False)
        self._sources = self._compared()
        self._figures = _figures(self._theirs)
        del self._ours, self._theirs

    def figures(self, rows: Rows) -> dict[str, Any]:
        """Returns the columns of the autograd profiler for these rows; -1 if not matched."""
        place = self._match[rows]
        return {name: column[place] for name, column in self._figures.items()}

    def sources(self) -> Sources:
        """Returns how the two differ."""
        return self._sources

    def _match_thread(self, ours: Rows, theirs: Rows, windows: list[tuple[int, int, int]]) -> None:
        end_ns = np.maximum.accumulate(self._ours.end_ns[ours])
        inside = np.zeros(len(ours), np.bool_)
        their_first = 0
        for start_ns, stop_ns, count in windows:
            first, last = np.searchsorted(end_ns, (start_ns, stop_ns)).tolist()
            inside[first:last] = True
            window = ours[first:last]
            self._align(window, theirs[their_first : their_first + count])
            their_first += count
            missing = window[self._match[window] < 0]
            at_edge = self._ours.start_ns[missing] < start_ns
            generated = self._generated[self._ours.name[missing]] & ~at_edge
            self._count(ONLY_OBSERVER, missing[at_edge], EDGE)
            self._count(ONLY_OBSERVER, missing[generated], GENERATED)
            self._count(ONLY_OBSERVER, missing[~at_edge & ~generated], "")
        self._count(ONLY_OBSERVER, ours[~inside], BETWEEN, named=False)

    def _align(self, ours: Rows, theirs: Rows) -> None:
        """Matches the rows of one window: equal rows from both ends, then the longest common parts."""
        left, right = _keys(self._ours, ours), _keys(self._theirs, theirs)
        shorter = min(len(left), len(right))
        start = _equal(left[:shorter] == right[:shorter])
        self._match[ours[:start]] = theirs[:start]
        rest = shorter - start
        tail = _equal((left[len(left) - rest :] == right[len(right) - rest :])[::-1])
        if tail:
            self._match[ours[-tail:]] = theirs[-tail:]
        ours, theirs = ours[start : len(ours) - tail], theirs[start : len(theirs) - tail]
        if 0 < len(ours) <= LONGEST_STRETCH and 0 < len(theirs) <= LONGEST_STRETCH:
            stretches = left[start : len(left) - tail].tolist(), right[start : len(right) - tail].tolist()
            for mine, other, size in SequenceMatcher(None, *stretches, autojunk=False).get_matching_blocks():
                self._match[ours[mine : mine + size]] = theirs[other : other + size]

    def _compared(self) -> Sources:
        matched = np.flatnonzero(self._match >= 0)
        other = self._match[matched]
        back: Rows = np.full(len(self._theirs), -1, np.intp)
        back[other] = matched
        self._count(ONLY_AUTOGRAD, np.flatnonzero(back < 0), self._dropped(), rows_of=self._theirs)
        self._compare_signatures(matched, other)
        parent, their_parent = _parents(self._ours, self._match), _parents(self._theirs, back)
        expected = np.where(parent[matched] >= 0, self._match[parent[matched]], -1)
        self._count(NESTING, matched[expected != their_parent[other]], "")
        apart_ns = np.abs(self._ours.start_ns[matched] - self._theirs.start_ns[other])
        return Sources(
            both=len(matched),
            observer=len(self._ours),
            autograd=len(self._theirs),
            windows=len(distinct(self._recording[AutogradWindows].start_ns)),
            reading_ns=_number(self._recording, "reading_ns"),
            clock_error_ns=_number(self._recording, "clock_error_ns"),
            apart_ns=int(np.median(apart_ns)) if len(apart_ns) else None,
            differences=_table(self._counts),
        )

    def _compare_signatures(self, matched: Rows, other: Rows) -> None:
        ours, theirs = self._ours, self._theirs
        keys = np.stack(
            [ours.name[matched], ours.overload[matched], ours.signature[matched], theirs.signature[other]]
        )
        found, counts = np.unique(keys, axis=1, return_counts=True)
        for (name, overload, *signatures), count in zip(found.T.tolist(), counts.tolist(), strict=True):
            left, right = map(self._signature, signatures)
            if left != right:
                reason = agreement.reason(left, right) or ""
                shown = ("", "") if reason else (left, right)
                self._counts[(SIGNATURE, name, overload, *shown, reason)] += count

    def _signature(self, signature: int) -> str:
        recorded = self._recording
        return recorded[Strings][recorded[Signatures].text[signature]] if signature >= 0 else ""

    def _count(
        self, kind: str, rows: Rows, reason: str, *, named: bool = True, rows_of: Operators | None = None
    ) -> None:
        if not named and len(rows):
            self._counts[kind, -1, -1, "", "", reason] += len(rows)
            return
        table = self._ours if rows_of is None else rows_of
        found, counts = np.unique(
            np.stack([table.name[rows], table.overload[rows]]), axis=1, return_counts=True
        )
        for (name, overload), count in zip(found.T.tolist(), counts.tolist(), strict=True):
            self._counts[kind, name, overload, "", "", reason] += count

    def _dropped(self) -> str:
        losses = self._recording[Losses]
        pairs = zip(losses.source, losses.reason, strict=True)
        return DROPPED if any(s == "operators" and r.startswith("operators ") for s, r in pairs) else ""


def _whole(recording: Recording, more: tuple[str, ...], autograd: bool) -> Operators:
    columns = (*COLUMNS, *more)
    source = recording.autograd_operators(columns) if autograd else recording.operators(columns)
    return Operators.concat(list(source))


def _windows(recording: Recording, forward_id: Int32, thread: int) -> list[tuple[int, int, int]]:
    """Returns start, end and number of rows of each window of a thread."""
    windows = recording[AutogradWindows]
    windows = windows.take(forward_id[windows.thread] == thread)
    columns = (windows.start_ns.tolist(), windows.end_ns.tolist(), np.maximum(windows.rows, 0).tolist())
    return list(zip(*columns, strict=True))


def _keys(table: Operators, rows: Rows) -> Int64:
    return (table.name[rows].astype(np.int64) << 32) + table.overload[rows]


def _equal(same: Mask) -> int:
    """Returns how many values at the beginning are true."""
    return len(same) if bool(same.all()) else int(np.argmin(same))


def _parents(table: Operators, match: Rows) -> Rows:
    """Returns for each row the nearest row around it that both sources have; -1 if none."""
    own = nest.parents(table.thread, table.depth)
    parent = own.astype(np.intp)
    while True:
        unknown = np.flatnonzero(parent >= 0)
        unknown = unknown[match[parent[unknown]] < 0]
        if len(unknown) == 0:
            return parent
        parent[unknown] = own[parent[unknown]]


def _figures(theirs: Operators) -> dict[str, Int64]:
    """Returns the profiler's figures by its row, with one more entry, -1, for no row."""
    order = np.argsort(theirs.thread, kind="stable")
    duration_ns = np.maximum(theirs.end_ns - theirs.start_ns, 0)
    self_ns = np.empty(len(theirs), np.int64)
    self_ns[order] = nest.Nesting().self_times(
        theirs.thread[order], theirs.depth[order], theirs.start_ns[order], duration_ns[order]
    )
    columns = {"autograd_ns": duration_ns, "autograd_self_ns": self_ns}
    columns |= {name: getattr(theirs, name) for name in MEMORY}
    return {name: np.append(column, -1) for name, column in columns.items()}


def _table(counts: Counter[Key]) -> Differences:
    rows = [(*key, count) for key, count in counts.most_common()]
    columns = [np.array(column, object) for column in zip(*rows, strict=True)] or [np.array([])] * 7
    dtypes = Differences.dtypes
    typed: dict[str, Any] = {n: c.astype(dtypes[n]) for n, c in zip(dtypes, columns, strict=True)}
    return Differences(**typed)


def _number(recording: Recording, name: str) -> int | None:
    value = recording.number("autograd", name)
    return None if value is None else int(value)
