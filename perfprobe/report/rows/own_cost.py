"""What recording added to the program's CPU time: an estimate from costs measured where it ran."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.recording import Recording

_MOST_COLDER = 10  # times; larger factors are not credible
_FIXED = ("start_cpu_ns", "torch_cpu_ns", "stop_cpu_ns")


class OwnCost(NamedTuple):
    """CPU time in ns.

    running_ns: while the program ran, an estimate; None where nothing was measured. share: of the CPU
    time without it; None where that is not known. fixed_ns: to start and to stop, measured,
    not part of running_ns; None where not measured.
    """

    running_ns: float | None
    share: float | None
    fixed_ns: int | None


def own_cost(findings: Findings, totals: Totals) -> OwnCost:
    """The cost for a recording with operators.

    An operator costs what one did in the calibration as recording began, times how much longer our own part
    took in the program, where caches are colder, stacks deeper and inputs more (one in 61 is timed).
    Readings of CPU clocks, calls that were counted and windows of the autograd profiler are numbers times the
    cost of one; the CPU time of the writer's and sampler's threads is read. It is a lower bound: how much
    colder caches make the program's own code, events that were not kept, and what the autograd profiler
    takes while it records are not included. Paired runs of five programs measured 1.2 to 2.4 times as much.
    """
    recording = findings.trace.recording
    reading_ns = recording.number("autograd", "reading_ns")
    fixed = [_number(recording, "cost", name) for name in _FIXED]
    fixed_ns = int(sum(fixed)) if any(fixed) else None
    if recording.number("cost", "event_ns") is None and reading_ns is None:
        return OwnCost(None, None, fixed_ns)
    running_ns = (
        _operators_ns(recording, totals)
        + _number(recording, "cost", "writer_cpu_ns")
        + _number(recording, "sampler", "cpu_ns")
        + _number(recording, "cprofile", "estimated_ns")
        + (reading_ns or 0)
    )
    return OwnCost(running_ns, _share(findings, running_ns, recording), fixed_ns)


def _operators_ns(recording: Recording, totals: Totals) -> float:
    timed_ns = recording.number("cost", "timed_event_ns")  # where all have CPU time: with the system calls
    if timed_ns is not None:
        return timed_ns * totals.operators
    reads_ns = 2 * totals.cpu_timed * _number(recording, "cost", "cpu_read_ns")
    return _number(recording, "cost", "event_ns") * _colder(recording) * totals.operators + reads_ns


def _colder(recording: Recording) -> float:
    """How many times longer our own part of an event took in the program; 1 where it is not known."""
    own_ns, trial_ns = (_number(recording, "cost", name) for name in ("own_ns", "trial_own_ns"))
    return min(max(own_ns / trial_ns, 1), _MOST_COLDER) if trial_ns > 0 else 1


def _share(findings: Findings, running_ns: float, recording: Recording) -> float | None:
    cpu_ns = findings.trace.cpu_ns
    if cpu_ns is None:
        return None
    left_ns = cpu_ns - running_ns - _number(recording, "cost", "torch_cpu_ns")
    return running_ns / left_ns if left_ns > 0 else None


def _number(recording: Recording, *keys: str) -> float:
    return max(recording.number(*keys) or 0, 0)
