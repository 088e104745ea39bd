"""Times calls on a GPU with two events, behind a kernel that keeps the GPU busy until all is launched.

Uses only the standard library and torch: its source is part of every script that is written.
"""

from __future__ import annotations

import time
from typing import Any


class HeadStart:
    """The time that calls take on one stream, without that of launching them.

    Kernels shorter than their launch only run back to back if the host stays ahead of the device. This was so
    if the first event had not happened when the last launch was made. Otherwise `starved` is True, the events
    have timed the host, and the next head start is longer.

    Args:
        cuda: the module `torch.cuda`, after the device was made current.
    """

    LEAST_NS = 500_000
    MOST_NS = 8_000_000
    TRIES = 6  # from the least to the most by doubling, and one more
    _CYCLES_A_NS = 2  # on fast GPUs; on slower ones the head start is longer

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._events = [cuda.Event(enable_timing=True) for _ in range(2)]
        self._length_ns, self._began_ns = self.LEAST_NS, 0
        self.starved, self._failed = False, 0

    def begin(self) -> None:
        """Call this last before the calls: all that the host does afterwards shortens the head start."""
        self._cuda._sleep(self._length_ns * self._CYCLES_A_NS)
        self._events[0].record()
        self._began_ns = time.monotonic_ns()

    def end(self) -> None:
        """Call this first after the calls."""
        self._events[1].record()
        self.starved = bool(self._events[0].query())
        launching_ns = time.monotonic_ns() - self._began_ns
        self._failed = self._failed + 1 if self.starved else 0
        if self.starved:
            self._length_ns = min(self.MOST_NS, max(2 * self._length_ns, 2 * launching_ns))
        if self._failed == self.TRIES:  # these calls wait for the device themselves; do not make others pay
            self._length_ns, self._failed = self.LEAST_NS, 0

    def device_ns(self) -> float:
        """Returns the time between the events, after waiting for the GPU."""
        self._cuda.synchronize()
        return float(self._events[0].elapsed_time(self._events[1])) * 1e6  # elapsed_time is in milliseconds
