"""How long a measuring process may take for a case, by its own clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf


class Deadline:
    """Begins with the case.

    Args:
        limit_s: wall time, None for any.
        clock_s: a clock that only goes forward.
    """

    def __init__(self, limit_s: float | None = None, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._end_s = inf if limit_s is None else clock_s() + limit_s

    def now_s(self) -> float:
        """By the clock."""
        return self._clock_s()

    def left_s(self) -> float:
        """Below 0 when it is past."""
        return self._end_s - self._clock_s()

    def is_past(self) -> bool:
        """Whether to finish the case."""
        return self.left_s() <= 0
