"""Links each call of CUDA to the operator around it by External ids, as traces do."""

from __future__ import annotations

import numpy as np

from perfprobe.report.export.chrome.annotations import Annotations
from perfprobe.report.export.chrome.scene import Scene
from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.gpu import ApiCalls

# The factor of a 64-bit hash. A call gets a wrong operator only if two hashes are equal by chance.
_FACTOR = 1_000_003


class CallIds:
    """External ids. Operators and ranges with calls get the first ones, from 1 on; first_free is the next.

    of_calls: the id for every row of `api_calls`, 0 for none. of_ranges: for every row of the annotations.
    """

    def __init__(self, scene: Scene, ranges: Annotations) -> None:
        self._os_thread = scene.recording.os_threads()
        calls, links = scene.recording[ApiCalls], scene.trace.gpu
        self.of_calls = np.zeros(len(calls) + 1, np.int64)  # the last one is that of no call
        named = self._key(ranges.thread, ranges.start_ns, ranges.name)
        used = ranges.of_calls[ranges.of_calls >= 0]
        self._keys = distinct(named[used])
        if links is not None:
            inside = links.sites.name >= 0
            keys = self._key(calls.thread, links.sites.start_ns, links.sites.name)
            self._keys = distinct(np.append(keys[inside], self._keys))
            self.of_calls[:-1] = np.where(inside, np.searchsorted(self._keys, keys) + 1, 0)
        self.of_ranges = np.searchsorted(self._keys, named) + 1
        self._is_taken: Mask = np.zeros(len(self._keys), np.bool_)
        self.first_free = len(self._keys) + 1

    def of_operators(self, rows: Operators) -> Int64:
        """The id of each operator of the next batch that made a call, -1 for others."""
        if len(self._keys) == 0:
            return np.full(len(rows), -1, np.int64)
        keys = self._key(rows.thread, rows.start_ns, rows.name)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found = np.flatnonzero((self._keys[place] == keys) & ~self._is_taken[place])
        first = np.ones(len(self._keys), np.int64) * len(rows)
        np.minimum.at(first, place[found], found)  # of equal keys the inner operator's: it ended first
        found = found[first[place[found]] == found]
        self._is_taken[place[found]] = True
        numbers = np.full(len(rows), -1, np.int64)
        numbers[found] = place[found] + 1
        return numbers

    def _key(self, thread: Int32, start_ns: Int64, name: Int32) -> Int64:
        with np.errstate(over="ignore"):
            return (start_ns * _FACTOR + self._os_thread[thread]) * _FACTOR + name
