"""Decides how thoroughly each call is measured, so that the given time is enough: plain arithmetic.

The hottest calls come first and get everything: all their processes, and changed calls beside them. What is
left of the time is shared out to the others: each is measured once before any of them is measured again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from perfprobe.tables.measurements import Wanted

_FULL = 4.0  # a case with changed calls takes so many times its CPU time, before any was measured
_BARE = 0.5  # of that without them
_ENOUGH = 2.0  # times of what others took: so long a call may take even where not all have their turn then
_MOST_PART = 4  # no call gets more than such a part of the time in one process while others wait


@dataclass(frozen=True)
class Turn:
    """How a call is measured in one process.

    limit_s: wall time, None for any. is_only: there is nothing else to measure, so that the limit begins to
    count with the first call that was timed.
    """

    with_changes: bool
    limit_s: float | None = None
    is_only: bool = False


class Schedule:
    """Of one run.

    Args:
        calls: the hottest first.
        processes: that each should have.
        seconds: CPU time of a case in one process, about.
        changes: whether changed calls are wanted.
        time_s: wall time for all, None for any.
        clock_s: a clock that only goes forward.
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
        """Whether there is an end."""
        return self._end_s < inf

    def left_s(self) -> float:
        """Wall time, infinite where there is no end."""
        return self._end_s - self._clock_s()

    def started(self, seconds: float) -> None:
        """What a process took to start."""
        self._start_s = seconds

    def took(self, call: Wanted, seconds: float, with_changes: bool) -> None:
        """What a call took in one process."""
        self._costs_s[call] = seconds, with_changes

    def chosen(self, calls: Sequence[Wanted], number: int) -> list[Wanted]:
        """Those for which there is time in the process of this number.

        The hottest ones that can have all processes that they still need; where there are none, those that
        can have one more, without changed calls if need be.
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
        """How to measure this call now, None where no time is left for it.

        Args:
            call: one of those that were chosen.
            number: of the process.
            waiting: how many other calls come after it in this process.
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
        """Whether this call and all hotter ones can have everything, and the others be measured once."""
        more = self._processes - 1
        needed_s = self._mean_s(True) * (1 + more * (place + 1)) + more * self._start_s
        return place == 0 or needed_s + waiting * self._mean_s(False) <= left_s

    def can_recycle(self, call: Wanted) -> bool:
        """Whether there is time for a call in recycled memory too, a part of what it took before."""
        return self._costs_s.get(call, (0.0, False))[0] / 2 <= self.left_s()

    def _mean_s(self, with_changes: bool) -> float:
        """What a call takes in one process, by those that were measured; else by what is usual."""
        known = [cost_s for cost_s, changed in self._costs_s.values() if changed == with_changes]
        if known:
            return sum(known) / len(known)
        return self._guess_s if with_changes else _BARE * self._mean_s(True)


class Countdown:
    """The time left as it is shown: estimates make it go faster or slower, up to a limit.

    Args:
        clock_s: a clock that only goes forward.
    """

    _FASTER, _SLOWER = 3.0, 2.0  # seconds, in each second, beside the one that passes

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._shown_s: float | None = None
        self._at_s = 0.0

    def left_s(self, estimate_s: float | None, most_s: float) -> float | None:
        """What to show, None while nothing is known.

        Args:
            estimate_s: what is left by what was done so far, None before.
            most_s: what is left of the time that was given; infinite where none was.
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
