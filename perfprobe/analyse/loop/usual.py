"""The phase that samples usually show between the same two operators.

A loop comes to the same places in every step. Where the time between two operators is shorter than that
between two samples, most steps have no sample there; without this, that time would be `other` in these steps.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.loop.timeline import Segments
from perfprobe.tables.columns import Int8, Int64, Rows, distinct
from perfprobe.tables.steps import StepPhase

_PHASES = len(StepPhase)
_MOST_FENCES = 16


class UsualPhases:
    """Learns from samples the phase of each place between operators.

    A place is known by the last operator before it, the first one behind it, and how many ranges begin or end
    between these, before and behind the place.

    Args:
        rows: the outermost segments of a thread.
        fence_ns: when ranges begin and end, sorted.
        from_ns, time_ns, phase: the samples, as in `Looks`.
    """

    def __init__(self, rows: Segments, fence_ns: Int64, from_ns: Int64, time_ns: Int64, phase: Int8) -> None:
        self._end_ns, self._fence_ns = rows.end_ns, fence_ns
        last, following = rows.last[:-1].astype(np.int64), rows.first[1:].astype(np.int64)
        ends = (last + 1) * (int(following.max(initial=0)) + 2) + following + 1
        none = np.full(min(len(rows), 1) + 1, -1)  # behind the last segment, and before the first
        self._ends = np.append(np.searchsorted(distinct(ends), ends), none)
        behind = np.searchsorted(fence_ns, rows.end_ns[:-1], "right")
        count = np.searchsorted(fence_ns, rows.start_ns[1:], "left") - behind
        self._first_fence, self._fences = np.append(behind, none), np.append(count, none)
        place = self._places(time_ns, np.searchsorted(rows.start_ns, time_ns, "right") - 1)
        counts = place >= 0
        self._known = distinct(place[counts])
        cell = np.searchsorted(self._known, place[counts]) * _PHASES + phase[counts]
        weight = (time_ns - from_ns + 1)[counts].astype(np.float64)
        shown = np.bincount(cell, weight, len(self._known) * _PHASES).reshape(-1, _PHASES)
        self._phase = np.append(shown.argmax(axis=1), -1).astype(np.int8)

    def at(self, time_ns: Int64, segment: Rows) -> Int8:
        """The phase of most samples at the same places, -1 where there is none.

        Args:
            segment: the segment that began last at each time, -1 none.
        """
        place = self._places(time_ns, segment)
        found = np.searchsorted(self._known, place)
        is_known = np.append(self._known, np.int64(-2))[found] == place
        return np.asarray(self._phase[np.where(is_known, found, -1)])

    def _places(self, time_ns: Int64, segment: Rows) -> Int64:
        """A number for each place, -1 within operators, before the first and behind the last of all."""
        fences = np.minimum(self._fences[segment], _MOST_FENCES)
        before = np.searchsorted(self._fence_ns, time_ns, "right") - self._first_fence[segment]
        place = (self._ends[segment] * (_MOST_FENCES + 1) + fences) * (_MOST_FENCES + 1) + before
        is_between = time_ns >= np.append(self._end_ns, np.int64(0))[segment]
        is_one = (self._ends[segment] >= 0) & is_between & (fences < _MOST_FENCES) & (before >= 0)
        return np.where(is_one, place, -1)
