"""Readings of the state of GPUs, for recordings that tests write."""

from __future__ import annotations

from tests.build import Program


def add_reading(program: Program, time_ns: int, device: int = 0, **fields: int) -> None:
    """A reading of a GPU at work: 1500 MHz, 300 W, 60 degrees, not throttled. -1: not read."""
    given = {"sm_clock_mhz": 1500, "memory_clock_mhz": 2600, "power_mw": 300_000, "temperature_c": 60}
    given |= {"throttle": 0, "utilization_percent": 80, "used_bytes": 1 << 30, **fields}
    program.row("gpu_states", time_ns, device, *given.values(), anew=True)
