"""What CUPTI adds to launches. No run can measure it in itself: the range is that of measured programs."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.report.rows.gpu.devices import device_rows
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

# Recorded and plain runs on an H200, CUDA 13.0, torch 2.11: 1.1 us a launch in a loop of nothing else, 2.5 us
# in a loop of operators, 5 us in training a language model, 11 us in training 30 layers of width 64, where
# caches are cold at each launch. `torch.profiler` uses CUPTI too: 1.2 to 1.6 us and 2.9 us in the same loops.
LEAST_NS, MOST_NS = 1_000, 10_000


class LaunchCost(NamedTuple):
    """calls: recorded calls of CUDA. least, most: what they took longer, divided by the time without that."""

    calls: int
    least: float
    most: float

    def text(self) -> str:
        """Such as `CUPTI +3 to 50 %: 1 to 10 us a launch`."""
        least, most = units.whole_percent(self.least), units.whole_percent(self.most)
        return f"CUPTI +{least} to {most} %: 1 to 10 us a launch"


def launch_cost(findings: Findings) -> LaunchCost | None:
    """Returns the cost from the first to the last work of a GPU; None if CUPTI recorded none for us."""
    gpu = findings.get(GpuFindings)
    if gpu is None or findings.trace.recording.number("gpu", "session") is None:
        return None
    span_ns = max((row.span_ns or 0 for row in device_rows(findings)), default=0)
    calls = int(gpu.calls.calls.sum())
    if calls == 0 or span_ns <= 0:
        return None
    return LaunchCost(calls, *(_added(calls * each_ns, span_ns) for each_ns in (LEAST_NS, MOST_NS)))


def _added(cost_ns: int, span_ns: int) -> float:
    """What a cost within a span adds to the rest of it, of which at least half is the program's own."""
    return cost_ns / max(span_ns - cost_ns, span_ns / 2)
