"""Finds the forward operator of each backward node, for the arrows between them.

As in Kineto, it is the operator that began last among those with the node's number on its forward thread.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.events import Operators, Threads
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION

COLUMNS = ("start_ns", "thread", "sequence", "scope", "node_sequence", "node_thread")
MOST = 1 << 21  # nodes of backward that get arrows; they take 32 MiB
_NUMBERS = 1 << 44


class ForwardStarts:
    """The starts of forward operators, found by reading all operators. is_cut: whether MOST was exceeded.

    Raises:
        InputError: the recording cannot be read.
    """

    def __init__(self, recording: Recording) -> None:
        self._forward_id = np.append(recording[Threads].forward_id, np.int32(-1))
        threads = self._forward_id.tolist()
        self._rows = {number: row for row, number in reversed(list(enumerate(threads))) if number > 0}
        self.is_cut = False
        self._key = self._wanted(recording)
        self._start_ns = np.full(len(self._key), -1, np.int64)
        for rows in recording.operators(COLUMNS[:4]) if len(self._key) else ():
            self._add(rows)

    def _wanted(self, recording: Recording) -> Int64:
        """The keys of all nodes of backward, sorted."""
        found = [np.empty(0, np.int64)]
        for rows in recording.operators(COLUMNS[3:]):
            keys = _keys(rows.node_thread, rows.node_sequence)[nodes(rows)]
            room = MOST - sum(map(len, found))
            self.is_cut |= len(keys) > room
            found.append(keys[:room])
        keys = distinct(np.concatenate(found))
        return keys[keys >= 0]

    def _add(self, rows: Operators) -> None:
        """Keep for each key the latest start of an operator that has it."""
        calls = np.flatnonzero((rows.scope == FUNCTION) & (rows.sequence >= 0))
        key = _keys(self._forward_id[rows.thread[calls]], rows.sequence[calls])
        place = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        known = self._key[place] == key
        np.maximum.at(self._start_ns, place[known], rows.start_ns[calls[known]])

    def of(self, rows: Operators) -> tuple[Int64, Int32]:
        """For each node when its forward operator began, -1 if not known, and the row of its thread."""
        key = _keys(rows.node_thread, rows.node_sequence)
        threads = np.array([self._rows.get(number, -1) for number in rows.node_thread.tolist()], np.int32)
        if len(self._key) == 0:
            return np.full(len(key), -1, np.int64), threads
        place = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        return np.where((self._key[place] == key) & (key >= 0), self._start_ns[place], -1), threads


def nodes(rows: Operators) -> Mask:
    """Returns which rows are backward nodes that name their forward operator."""
    return np.asarray((rows.scope == BACKWARD_FUNCTION) & (rows.node_sequence >= 0) & (rows.node_thread > 0))


def _keys(thread: Int32, sequence: Int64) -> Int64:
    """One number for thread and sequence number; -1 if one of them is missing."""
    known = (thread > 0) & (sequence >= 0) & (sequence < _NUMBERS) & (thread < 1 << 19)
    return np.where(known, thread.astype(np.int64) * _NUMBERS + sequence, -1)
