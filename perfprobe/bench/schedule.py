"""Decides how thoroughly each call is measured, so that it fits the given time.

The hottest calls come first and get everything: all processes, and changed calls. The others share the time
left: each is measured once before any is measured again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from perfprobe.tables.measurements import Wanted

_FULL = 4.0  # a case with changed calls is estimated at this multiple of its CPU time
_BARE = 0.5  # part of that for a case without changed calls
_ENOUGH = 2.0  # a call may take this multiple of the mean, even if others then miss their turn
_MOST_PART = 4  # while others wait, a call gets at most one such part of the time in a process


@dataclass(frozen=True)
class Turn:
    """How a call is measured in one process.

    Attributes:
        limit_s: wall time; None for no limit.
        is_only: nothing else is to be measured, so the limit starts after the first timed call.
    """

    with_changes: bool
    limit_s: float | None = None
    is_only: bool = False


class Schedule:
    """The schedule of one run.

    Args:
        calls: the hottest first.
        processes: the number for each call.
        seconds: approximate CPU time of a case in one process.
        changes: whether changed calls are wanted.
        time_s: wall time for everything; None for no limit.
        clock_s: a monotonic clock.
    """

    def __init__(
        self,
        calls: Sequence[Wanted],
        *,
        processes: int,
        seconds: float,
        changes: bool,
        time_s: float | None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = {call: place for place, call in enumerate(calls)}
        self._processes, self._changes, self._clock_s = processes, changes, clock_s
        self._end_s = inf if time_s is None else clock_s() + time_s
        self._start_s = 0.0
        self._costs_s: dict[Wanted, tuple[float, bool]] = {}
        self._guess_s = _FULL * seconds

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._end_s < inf

    def left_s(self) -> float:
        """Returns the wall time left; infinite without a limit."""
        return self._end_s - self._clock_s()

    def started(self, seconds: float) -> None:
        """Notes how long a process took to start."""
        self._start_s = seconds

    def took(self, call: Wanted, seconds: float, with_changes: bool) -> None:
        """Notes how long a call took in one process."""
        self._costs_s[call] = seconds, with_changes

    def chosen(self, calls: Sequence[Wanted], number: int) -> list[Wanted]:
        """Returns the calls to measure in process `number`.

        These are the hottest calls that can have all processes they still need. If there are none, those that
        can have one more process, if necessary without changed calls.
        """
        if number == 0 or not self.is_limited:
            return list(calls)
        more = max(self._processes - number, 1)
        return self._fitting(calls, more) or self._fitting(calls, 1) or self._fitting(calls, 1, _BARE)

    def _fitting(self, calls: Sequence[Wanted], processes: int, part: float = 1.0) -> list[Wanted]:
        left_s = self.left_s() - processes * self._start_s
        found = []
        for call in sorted(calls, key=self._places.__getitem__):
            cost_s, with_changes = self._costs_s.get(call, (0.0, False))
            left_s -= processes * cost_s * (part if with_changes else 1.0)
            if left_s < 0:
                break
            found.append(call)
        return found

    def turn(self, call: Wanted, number: int, waiting: int) -> Turn | None:
        """Returns how to measure this call now; None if no time is left for it.

        Args:
            call: one of the chosen calls.
            number: the process.
            waiting: number of other calls after it in this process.
        """
        if not self.is_limited:
            return Turn(self._changes)
        left_s = self.left_s()
        if number:
            cost_s, with_changes = self._costs_s.get(call, (0.0, False))
            if cost_s <= left_s:
                return Turn(with_changes, left_s)
            return Turn(False, left_s) if with_changes and _BARE * cost_s <= left_s else None
        if len(self._places) == 1:
            return Turn(self._changes, max(left_s, 0.0), is_only=True)
        if left_s <= 0:
            return None
        reserve_s = waiting * self._mean_s(False)
        most_s = left_s / min(waiting + 1, _MOST_PART)
        limit_s = max(min(left_s - reserve_s, most_s), min(left_s, _ENOUGH * self._mean_s(False)))
        return Turn(self._changes and self._affords(self._places[call], waiting, left_s), limit_s)

    def _affords(self, place: int, waiting: int, left_s: float) -> bool:
        """Whether this call and all hotter ones can have everything while the others are measured once."""
        more = self._processes - 1
        needed_s = self._mean_s(True) * (1 + more * (place + 1)) + more * self._start_s
        return place == 0 or needed_s + waiting * self._mean_s(False) <= left_s

    def can_recycle(self, call: Wanted) -> bool:
        """Whether there is time for the call in recycled memory, which takes a part of its earlier time."""
        return self._costs_s.get(call, (0.0, False))[0] / 2 <= self.left_s()

    def _mean_s(self, with_changes: bool) -> float:
        """Returns the mean time of a call in one process; before any was measured, an estimate."""
        known = [cost_s for cost_s, changed in self._costs_s.values() if changed == with_changes]
        if known:
            return sum(known) / len(known)
        return self._guess_s if with_changes else _BARE * self._mean_s(True)


class Countdown:
    """The time left, for display. It follows estimates with limited speed.

    Args:
        clock_s: a monotonic clock.
    """

    _FASTER, _SLOWER = 3.0, 2.0  # seconds in each second, in addition to the second that passes

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._shown_s: float | None = None
        self._at_s = 0.0

    def left_s(self, estimate_s: float | None, most_s: float) -> float | None:
        """Returns what to show; None if nothing is known.

        Args:
            estimate_s: time left, estimated from what was done; None before anything was.
            most_s: what is left of the limit; infinite without one.
        """
        now_s = self._clock_s()
        if self._shown_s is None:
            first_s = estimate_s if estimate_s is not None else most_s
            shown_s = first_s if most_s == inf else most_s
            if shown_s == inf:
                return None
        else:
            passed_s = now_s - self._at_s
            shown_s = self._shown_s - passed_s
            if estimate_s is not None:
                change_s = estimate_s - shown_s
                shown_s += max(-self._FASTER * passed_s, min(change_s, self._SLOWER * passed_s))
        self._shown_s, self._at_s = max(min(shown_s, most_s), 0.0), now_s
        return self._shown_s
