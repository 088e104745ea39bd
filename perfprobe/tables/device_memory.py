"""Memory of GPUs: what torch's allocator held when steps ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfprobe.tables.columns import MOST_EVENTS, Int32, Int64, Table, column


class DeviceReadings(Table, name="device_memory", most_rows=MOST_EVENTS):
    """What torch's allocator for GPUs held: when a step ended or began, and at the recording's end."""

    time_ns: Int64 = column("when it was read")
    device: Int32 = column("number of the device, as torch counts them")
    allocated_bytes: Int64 = column("bytes of tensors")
    reserved_bytes: Int64 = column("bytes taken from the device, with those that are cached")
    peak_bytes: Int64 = column(
        "most bytes of tensors so far, since the start or since the program last reset its peaks"
    )
    reserved_peak_bytes: Int64 = column("the same of the bytes taken from the device")
    retries: Int64 = column("how often an allocation did not fit and the cache was emptied", optional=True)


class DeviceMemory(Table):
    """Memory of one GPU over the recording."""

    device: Int32 = column("number of the device, as torch counts them")
    readings: Int64 = column("how often it was read")
    peak_bytes: Int64 = column("most bytes of tensors at once")
    reserved_peak_bytes: Int64 = column("most bytes taken from the device, with those that were cached")
    step_bytes: Int64 = column("bytes of tensors when steps ended: median, -1 without steps", optional=True)
    held_bytes: Int64 = column("bytes of tensors at the recording's end")
    growth_bytes: Int64 = column(
        "growth from one step's end to the next: median slope over all pairs of steps that count, 0 if it "
        "does not grow, -1 with fewer than three steps",
        optional=True,
    )
    retries: Int64 = column("how often an allocation did not fit and the cache was emptied", optional=True)
    capacity_bytes: Int64 = column("memory of the device", optional=True)


def fact_of_device(fact: Callable[..., Any], device: int, name: str) -> Any:
    """A fact about a GPU, `name` or `memory_bytes`; None if it is not known. fact: that of the recording."""
    for source in ("device_memory", "gpu"):
        devices = fact(source, "devices")
        known = devices[device] if isinstance(devices, list) and 0 <= device < len(devices) else None
        if isinstance(known, dict) and name in known:
            return known[name]
    return None
