"""Memory of each GPU: the peak, what steps leave, and what grows."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.growth import is_growing, sampled
from perfprobe.analyse.memory.moments import Moments, moments
from perfprobe.models.intervals import median_slope
from perfprobe.tables.columns import Int64, distinct
from perfprobe.tables.device_memory import DeviceMemory, DeviceReadings, fact_of_device
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace


def device_memory(trace: Trace, times: StepTimes) -> DeviceMemory | None:
    """A row for each device that was read, by number; None if none was."""
    readings = trace.recording[DeviceReadings]
    if len(readings) == 0:
        return None
    steps = moments(times)
    rows = [
        _device(trace.recording, device, readings.take(readings.device == device), steps)
        for device in distinct(readings.device).tolist()
    ]
    return DeviceMemory.concat(rows)


def _device(recording: Recording, device: int, readings: DeviceReadings, steps: Moments) -> DeviceMemory:
    readings = readings.take(np.argsort(readings.time_ns, kind="stable"))
    held_bytes, counted = _at_step_ends(readings, steps)
    row = {
        "device": device,
        "readings": len(readings),
        "peak_bytes": int(readings.peak_bytes.max()),
        "reserved_peak_bytes": int(readings.reserved_peak_bytes.max()),
        "step_bytes": int(np.sort(held_bytes)[(len(held_bytes) - 1) // 2]) if len(held_bytes) else -1,
        "held_bytes": int(readings.allocated_bytes[-1]),
        "growth_bytes": _growth(held_bytes, counted),
        "retries": int(readings.retries.max()),
        "capacity_bytes": _capacity(recording, device),
    }
    return DeviceMemory(**{name: np.array([row[name]], kind) for name, kind in DeviceMemory.dtypes.items()})


def _at_step_ends(readings: DeviceReadings, steps: Moments) -> tuple[Int64, Int64]:
    """Returns what was held when steps that count ended, by the last reading in each; and which steps these
    are.
    """
    counted = np.flatnonzero(steps.counts)
    start_ns, end_ns = steps.steps.start_ns[counted], steps.steps.end_ns[counted]
    last = np.searchsorted(readings.time_ns, end_ns, side="right") - 1
    is_read = (last >= 0) & (readings.time_ns[last] >= start_ns)
    return readings.allocated_bytes[last[is_read]], counted[is_read]


def _growth(held_bytes: Int64, steps: Int64) -> int:
    chosen = sampled(np.arange(len(steps)))
    if len(chosen) == 0:
        return -1
    some = held_bytes[chosen]
    return max(median_slope(some, steps[chosen]), 0) if bool(is_growing(some[None, :])[0]) else 0


def _capacity(recording: Recording, device: int) -> int:
    value = fact_of_device(recording.fact, device, "memory_bytes")
    return value if type(value) is int and 0 < value < 2**62 else -1
