"""Clocks, power and temperature of each GPU while it was in use, and how often it was throttled."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.devices import timed
from perfprobe.analyse.loop.covered import Covered
from perfprobe.models.intervals import percentile
from perfprobe.tables.columns import Int64, Mask, distinct
from perfprobe.tables.gpu import Copies, Kernels
from perfprobe.tables.gpu_states import THERMAL_SLOWDOWN, THROTTLED, DeviceStates, GpuStates, ThrottleReason
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace

_BEFORE_NS = 1_000_000_000
_MOST = 1 << 50  # more is no figure of a GPU
_REASONS = {
    "throttled": THROTTLED,
    "power_cap": ThrottleReason.POWER_CAP,
    "thermal_slowdown": THERMAL_SLOWDOWN,
    "hardware_slowdown": ThrottleReason.HARDWARE_SLOWDOWN,
    "power_brake": ThrottleReason.POWER_BRAKE,
    "sync_boost": ThrottleReason.SYNC_BOOST,
    "application_clocks": ThrottleReason.APPLICATION_CLOCKS,
}


def device_states(trace: Trace) -> DeviceStates | None:
    """A row for each device that was read, by number; None if none was."""
    states = trace.recording[GpuStates]
    if len(states) == 0:
        return None
    rows = [
        _device(device, states.take(states.device == device), trace.recording)
        for device in distinct(states.device).tolist()
    ]
    return DeviceStates.concat(rows)


def _device(device: int, states: GpuStates, recording: Recording) -> DeviceStates:
    used = states.take(_in_use(device, states, recording))
    row = {"device": device, "readings": len(states), "in_use": len(used), **_figures(used), **_reasons(used)}
    return DeviceStates(**{name: np.array([row[name]], kind) for name, kind in DeviceStates.dtypes.items()})


def _in_use(device: int, states: GpuStates, recording: Recording) -> Mask:
    kernels, copies = recording[Kernels], recording[Copies]
    work = Covered(*timed(kernels.take(kernels.device == device), copies.take(copies.device == device)))
    worked_ns = work.within(states.time_ns - _BEFORE_NS, states.time_ns)
    return np.asarray((states.utilization_percent > 0) | (worked_ns > 0))


def _figures(used: GpuStates) -> dict[str, int]:
    sm_clocks, powers = _known(used.sm_clock_mhz), _known(used.power_mw)
    return {
        "sm_clock_mhz": percentile(sm_clocks, 50),
        "least_sm_clock_mhz": int(sm_clocks.min()) if len(sm_clocks) else -1,
        "most_sm_clock_mhz": _highest(sm_clocks),
        "memory_clock_mhz": percentile(_known(used.memory_clock_mhz), 50),
        "power_mw": _mean(powers),
        "most_power_mw": _highest(powers),
        "most_temperature_c": _highest(_known(used.temperature_c)),
        "utilization_percent": _mean(_known(used.utilization_percent)),
        "most_used_bytes": _highest(_known(used.used_bytes)),
    }


def _reasons(used: GpuStates) -> dict[str, int]:
    """For each reason the number of readings that have it, and how many say anything about reasons."""
    known = used.throttle[used.throttle >= 0]
    counts = {name: int(np.count_nonzero(known & int(bits))) for name, bits in _REASONS.items()}
    return {"judged": len(known), **counts}


def _known(values: Int64) -> Int64:
    return values[(values >= 0) & (values < _MOST)]


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else -1


def _highest(values: Int64) -> int:
    return int(values.max()) if len(values) else -1
