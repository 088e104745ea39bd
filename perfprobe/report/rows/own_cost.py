"""What recording added to the program's CPU time: an estimate from costs measured on this machine."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.recording import Recording

_MOST_COLDER = 10  # larger factors are not credible
_FIXED = ("start_cpu_ns", "torch_cpu_ns", "stop_cpu_ns")


class OwnCost(NamedTuple):
    """CPU time in ns.

    running_ns: an estimate for the time while the program ran, None if nothing was measured. share: its ratio
    to the CPU time without it, None if not known. fixed_ns: the measured cost to start and to stop, which is
    not part of running_ns; None if not measured.
    """

    running_ns: float | None
    share: float | None
    fixed_ns: int | None


def own_cost(findings: Findings, totals: Totals) -> OwnCost:
    """The cost for a recording with operators.

    The cost of an operator is measured by a calibration when recording begins. In the program our part takes
    longer, because caches are colder, stacks deeper and inputs more numerous. So one operator in 61 is timed,
    and the calibrated cost is multiplied by that ratio. Readings of CPU clocks, counted calls and windows of
    the autograd profiler are each a number times the cost of one. The CPU time of the writer's and the
    sampler's threads is read.

    The result is a lower bound. It does not include the slower code of the program itself, whose caches are
    colder, events that were not kept, and the autograd profiler's cost while it records. Paired runs of five
    programs measured 1.2 to 2.4 times as much.
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


def watching_cost(findings: Findings) -> OwnCost | None:
    """The cost of a run with `--keep slow`, which watches operators in all steps.

    None if not known: their number is written when the program ends, into the last file.
    """
    totals = findings.get(Totals)
    is_counted = findings.trace.recording.number("live_steps", "watched_rows") is not None
    return None if totals is None or not is_counted else own_cost(findings, totals)


def _watched(recording: Recording, totals: Totals) -> int:
    """Number of operators that were recorded, including those of which only sums were kept."""
    return max(totals.operators, int(_number(recording, "live_steps", "watched_rows")))


def _operators_ns(recording: Recording, totals: Totals) -> float:
    timed_ns = recording.number("cost", "timed_event_ns")  # with system calls, if every operator has CPU time
    if timed_ns is not None:
        return timed_ns * totals.operators
    reads_ns = 2 * totals.cpu_timed * _number(recording, "cost", "cpu_read_ns")
    return (
        _number(recording, "cost", "event_ns") * _colder(recording) * _watched(recording, totals) + reads_ns
    )


def _colder(recording: Recording) -> float:
    """Returns how many times longer our part of an event took in the program than in calibration; 1 if not
    known.
    """
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
