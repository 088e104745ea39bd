"""Python's path to an operator: the part of a short call that is not the operator's.

A program's calls mostly come another way, and recordings time the operator inside the dispatcher. What
`torch.ops` takes to get there depends on the arguments: 0.9 us for two tensors, 4.8 us for
`empty_strided(size, stride, dtype=, layout=, ...)`, which itself takes 0.2 us. So it is measured for each
call, as what its time is more than that of its event in torch's profiler, which begins where a recording's
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from perfprobe.bench.clocks import Block, HostClock
from perfprobe.bench.subjects import Arguments, Subject

_SHORT_NS = 20_000  # of longer calls it is little
_BLOCKS = 3


def short(blocks: Sequence[Block]) -> bool:
    """Whether Python's way to the operator is a part of the call that counts."""
    return median(block.cpu_ns for block in blocks) < _SHORT_NS


class PythonPath:
    """Measures it; with what the profiler itself adds outside of an event, which it has to be told from.

    That is what is left of an operator that does nothing: called under the profiler, less its event, less the
    same call without it (whose own 30 ns are let go).
    """

    def __init__(self, torch: Any) -> None:
        self._torch, self._clock = torch, HostClock()
        one = torch.ones(1)
        nothing = Subject("path", torch.ops.aten.is_same_size.default, [Arguments((one, one))], 1)
        nothing.calibrate(self._clock)
        alone_ns = self._block_ns(nothing)
        self._profiler_ns = 0.0
        self._profiler_ns = self.ns("aten::is_same_size", nothing) - alone_ns

    def ns(self, operator: str, subject: Subject) -> float:
        """CPU time of a call outside of the operator, 0.0 where the profiler does not show it."""
        name = operator.partition(".")[0]
        activities = [self._torch.profiler.ProfilerActivity.CPU]
        with self._torch.profiler.profile(activities=activities, acc_events=True) as profile:
            call_ns = self._block_ns(subject)
        inside_us = [
            event.cpu_time_total
            for event in profile.events()
            if event.name == name and event.cpu_parent is None
        ]
        if not inside_us:
            return 0.0
        return max(call_ns - float(median(inside_us)) * 1000 - self._profiler_ns, 0.0)

    def _block_ns(self, subject: Subject) -> float:
        return min(subject.block(self._clock).cpu_ns for _ in range(_BLOCKS))
