"""Rows of the memory of GPUs."""

from __future__ import annotations

from perfprobe.report.rows.row import measured, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.device_memory import DeviceMemory, fact_of_device
from perfprobe.tables.findings import Findings


@frozen(kw_only=True)
class DeviceMemoryRow:
    """Memory of one GPU: see `DeviceMemory`. peak_share, reserved_share: their part of the capacity."""

    device: int
    name: str | None
    readings: int
    peak_bytes: int
    peak_share: float | None
    reserved_peak_bytes: int
    reserved_share: float | None
    step_bytes: int | None
    held_bytes: int
    growth_bytes: int | None
    retries: int | None
    capacity_bytes: int | None


def device_memory_rows(findings: Findings) -> list[DeviceMemoryRow]:
    """A row for each GPU that was read, by number."""
    return [_row(findings, value) for value in values(findings[DeviceMemory])]


def _row(findings: Findings, value: dict[str, int]) -> DeviceMemoryRow:
    capacity_bytes = measured(value["capacity_bytes"])
    return DeviceMemoryRow(
        device=value["device"],
        name=_name(findings, value["device"]),
        readings=value["readings"],
        peak_bytes=value["peak_bytes"],
        peak_share=_share(value["peak_bytes"], capacity_bytes),
        reserved_peak_bytes=value["reserved_peak_bytes"],
        reserved_share=_share(value["reserved_peak_bytes"], capacity_bytes),
        step_bytes=measured(value["step_bytes"]),
        held_bytes=value["held_bytes"],
        growth_bytes=measured(value["growth_bytes"]),
        retries=measured(value["retries"]),
        capacity_bytes=capacity_bytes,
    )


def _share(size_bytes: int, capacity_bytes: int | None) -> float | None:
    return None if capacity_bytes is None else size_bytes / capacity_bytes


def _name(findings: Findings, device: int) -> str | None:
    name = fact_of_device(findings.trace.recording.fact, device, "name")
    return name if isinstance(name, str) else None
