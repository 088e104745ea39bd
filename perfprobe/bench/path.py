"""Measures Python's path to an operator: the part of a short call outside of the operator.

A program mostly calls operators by another path, and recordings time the operator inside the dispatcher. The
path of `torch.ops` depends on the arguments: 0.9 us for two tensors, 4.8 us for `empty_strided(size, stride,
dtype=, layout=, ...)`, which itself takes 0.2 us. So it is measured for each call, as the difference between
the call and its event in torch's profiler, which begins at the same place as a recorded operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from perfprobe.bench.clocks import Block, HostClock
from perfprobe.bench.subjects import Arguments, Subject

_SHORT_NS = 20_000  # in longer calls it is negligible
_BLOCKS = 3


def short(blocks: Sequence[Block]) -> bool:
    """Whether a call is so short that Python's path to the operator matters."""
    return median(block.cpu_ns for block in blocks) < _SHORT_NS


class PythonPath:
    """Measures the path, without what the profiler itself adds outside of an event.

    The profiler's part is measured once with an operator that does nothing: the call under the profiler, less
    its event, less the call without the profiler. The 30 ns of the operator itself are neglected.
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
        """Returns the CPU time of a call outside of the operator; 0.0 if the profiler does not show it."""
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
