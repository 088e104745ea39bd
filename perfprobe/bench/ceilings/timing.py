"""Times one case until its noise is low or its time is spent."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from perfprobe.bench import rules
from perfprobe.bench.ceilings.case import Call
from perfprobe.bench.clocks import Block, Clock, unstarved

_LONG_NS = 50e6
_HOST_TIMES = ("wall_ns", "cpu_ns")


@dataclass(frozen=True)
class Timed:
    """Times of one call, and of all its blocks.

    Attributes:
        call_ns: the median block.
        best_ns: the fastest block.
        host_ns: CPU time. For kernels of a GPU it is the time of launching them.
        faults: page faults of a call.
        wall_s: wall time of all blocks.
        cpu_s: CPU time of all blocks.
        starved: the GPU waited for the host in every block, so its times contain launching.
    """

    call_ns: float
    best_ns: float
    host_ns: float
    faults: float
    wall_s: float
    cpu_s: float
    starved: bool = False


def timed(call: Call, clock: Clock, seconds: float) -> Timed:
    """Times the call after warming up. A long call is warm after its first execution."""
    first = _block(call, clock, 1)
    if _ns(first) < _LONG_NS:
        first = _block(call, clock, 1)
    calls = rules.calls_of_a_block(_ns(first))
    blocks: list[Block] = []
    spent_s = 0.0
    while not rules.enough([_ns(block) for block in blocks] or [1.0], spent_s, seconds):
        blocks.append(_block(call, clock, calls))
        spent_s += max(blocks[-1].cpu_ns, _ns(blocks[-1])) * calls / 1e9
    starved = [block.starved for block in blocks]
    times_ns = [_ns(block) for block, counts in zip(blocks, rules.fed(starved), strict=True) if counts]
    wall_s, cpu_s = (sum(getattr(block, name) for block in blocks) * calls / 1e9 for name in _HOST_TIMES)
    host_ns, faults = (median(getattr(block, name) for block in blocks) for name in ("cpu_ns", "faults"))
    return Timed(median(times_ns), min(times_ns), host_ns, faults, wall_s, cpu_s, all(starved))


def _block(call: Call, clock: Clock, calls: int) -> Block:
    def once() -> Block:
        clock.begin()
        for _ in range(calls):
            call()
        return clock.end(calls)

    return unstarved(once)


def _ns(block: Block) -> float:
    return block.cpu_ns if block.device_ns is None else block.device_ns
