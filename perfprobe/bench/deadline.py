"""The time that a measuring process may take for a case."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf


class Deadline:
    """The end of a case's time, which begins now.

    Args:
        limit_s: wall time; None for no limit.
        clock_s: a monotonic clock.
    """

    def __init__(self, limit_s: float | None = None, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._end_s = inf if limit_s is None else clock_s() + limit_s

    def now_s(self) -> float:
        """Returns the time of the clock."""
        return self._clock_s()

    def left_s(self) -> float:
        """Returns the time left; negative after the deadline."""
        return self._end_s - self._clock_s()

    def is_past(self) -> bool:
        """Whether the case must end."""
        return self.left_s() <= 0
