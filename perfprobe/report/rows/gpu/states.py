"""Rows of the state of GPUs: clocks, power, temperature, throttling."""

from __future__ import annotations

from collections.abc import Mapping

from perfprobe.report.rows.gpu.devices import device_name
from perfprobe.report.rows.row import measured, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.device_memory import fact_of_device
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_states import DeviceStates

# The reasons that slow a GPU down, in words. The hardware gives its own reason beside more exact ones.
_SLOWING = {
    "power_cap": "power cap",
    "thermal_slowdown": "thermal slowdown",
    "power_brake": "power brake",
    "hardware_slowdown": "hardware slowdown",
}
_FIGURES = (
    *("sm_clock_mhz", "least_sm_clock_mhz", "most_sm_clock_mhz", "memory_clock_mhz"),
    *("power_mw", "most_power_mw", "most_temperature_c", "utilization_percent", "most_used_bytes"),
)
_MOST_MHZ = 1_000_000


@frozen(kw_only=True)
class StateRow:
    """The state of one GPU while it was in use: see `DeviceStates`.

    maximum_clock_mhz: the highest clock of its multiprocessors that the driver names. Shares are of the
    readings in use, from 0 to 1, None if NVML gave no reasons. throttled_share: by any reason but clocks that
    somebody has set. cause: the most frequent of these reasons, None if there was none.
    """

    device: int
    name: str | None
    readings: int
    in_use: int
    sm_clock_mhz: int | None
    least_sm_clock_mhz: int | None
    most_sm_clock_mhz: int | None
    maximum_clock_mhz: int | None
    memory_clock_mhz: int | None
    power_mw: int | None
    most_power_mw: int | None
    most_temperature_c: int | None
    utilization_percent: int | None
    most_used_bytes: int | None
    judged: int
    throttled_share: float | None
    cause: str | None
    power_cap_share: float | None
    thermal_slowdown_share: float | None
    hardware_slowdown_share: float | None
    power_brake_share: float | None
    sync_boost_share: float | None
    application_clocks_share: float | None


def state_rows(findings: Findings) -> list[StateRow]:
    """A row for each GPU that was read, by number."""
    return [_row(findings, value) for value in values(findings[DeviceStates])]


def _row(findings: Findings, value: Mapping[str, int]) -> StateRow:
    def share(name: str) -> float | None:
        return value[name] / value["judged"] if value["judged"] else None

    recording, device = findings.trace.recording, value["device"]
    return StateRow(
        device=device,
        name=device_name(recording, device),
        readings=value["readings"],
        in_use=value["in_use"],
        judged=value["judged"],
        **{name: measured(value[name]) for name in _FIGURES},
        maximum_clock_mhz=_maximum_clock_mhz(findings, device),
        cause=_cause(value),
        throttled_share=share("throttled"),
        power_cap_share=share("power_cap"),
        thermal_slowdown_share=share("thermal_slowdown"),
        hardware_slowdown_share=share("hardware_slowdown"),
        power_brake_share=share("power_brake"),
        sync_boost_share=share("sync_boost"),
        application_clocks_share=share("application_clocks"),
    )


def _cause(value: Mapping[str, int]) -> str | None:
    most = max(_SLOWING, key=lambda name: value[name])
    return _SLOWING[most] if value[most] else None


def _maximum_clock_mhz(findings: Findings, device: int) -> int | None:
    khz = fact_of_device(findings.trace.recording.fact, device, "clock_khz")
    return khz // 1000 if type(khz) is int and 0 < khz // 1000 < _MOST_MHZ else None
