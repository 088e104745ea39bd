"""The figures of a run that is compared with others: its mean and median step, start-up, memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.benchmark import steps_that_count
from perfprobe.analyse.loop.own_times import leading, own_times_ns
from perfprobe.models.waiting import cpu_each_ns, waited_each_ns
from perfprobe.tables.device_memory import DeviceReadings
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.steps import Steps, StepTimes
from perfprobe.tables.trace import Trace

Floats = npt.NDArray[np.float64]
_ENOUGH = 0.5  # of the steps must have a value


class _Each(NamedTuple):
    """Values of each step, NaN where they were not measured."""

    wall: Floats
    cpu: Floats
    own: Floats
    samples: Floats


def run_value(trace: Trace, times: StepTimes) -> RunValue:
    """The figures. Where operators show no steps, they are those that were found while the program ran."""
    is_live = len(times.steps) == 0
    each = _of_live_steps(trace) if is_live else _of_steps(trace, times)
    start_ns = trace.start_ns
    start_up_ns = _live_start_up_ns(trace) if is_live else times.start_up_ns
    ended = None if start_ns is None or trace.end_ns is None else trace.end_ns - start_ns
    threads = trace.recording.number("torch", "threads")
    memory, resident = trace.memory, trace.recording[LiveSteps].rss_bytes
    device_bytes = trace.recording[DeviceReadings].peak_bytes
    return RunValue(
        steps=len(each.wall),
        **_figures("wall", each.wall),
        **_figures("cpu", each.cpu),
        **_figures("own", each.own),
        samples=_mean(each.samples),
        start_up_ns=-1 if start_up_ns is None else start_up_ns,
        whole_ns=-1 if ended is None else ended,
        threads=-1 if threads is None else int(threads),
        resident_bytes=int(resident.max(initial=-1)),
        tensor_bytes=-1 if memory is None else memory.peak_bytes,
        device_bytes=int(device_bytes.max(initial=-1)),
    )


def _of_steps(trace: Trace, times: StepTimes) -> _Each:
    steps = times.steps.take(leading(times))
    return _each(trace, steps, own_times_ns(trace, times) if len(steps) else None)


def _of_live_steps(trace: Trace) -> _Each:
    steps = steps_that_count(trace.recording)
    if len(steps) == 0:
        return _each(trace, steps, None)
    waited_ns = waited_each_ns(trace.recording, int(steps.thread[0]), steps.start_ns, steps.end_ns)
    wall_ns = (steps.end_ns - steps.start_ns).astype(np.float64)
    return _each(trace, steps, wall_ns if waited_ns is None else wall_ns - waited_ns)


def _each(trace: Trace, steps: Steps | LiveSteps, own_ns: Floats | None) -> _Each:
    """own_ns: None if not known."""
    wall_ns, none = (steps.end_ns - steps.start_ns).astype(np.float64), np.full(len(steps), np.nan)
    if len(steps) == 0:
        return _Each(wall_ns, none, none, none)
    cpu_ns = cpu_each_ns(trace.recording, int(steps.thread[0]), steps.start_ns, steps.end_ns)
    samples = np.where(steps.samples >= 0, steps.samples, np.nan)
    return _Each(wall_ns, none if cpu_ns is None else cpu_ns, none if own_ns is None else own_ns, samples)


def _live_start_up_ns(trace: Trace) -> int | None:
    steps = trace.recording[LiveSteps].counted()
    if trace.start_ns is None or len(steps) == 0:
        return None
    return max(int(steps.start_ns.min()) - trace.start_ns, 0)


def _figures(name: str, values: Floats) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    median_ns = float(np.median(known)) if _is_enough(values) else -1.0
    return {f"{name}_ns": _mean(values), f"{name}_median_ns": median_ns}


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if _is_enough(values) else -1.0


def _is_enough(values: Floats) -> bool:
    """Whether enough steps have a value. Those without one at the ends of a recording are no fault."""
    return bool(len(values) > 0 and np.count_nonzero(~np.isnan(values)) >= _ENOUGH * len(values))
