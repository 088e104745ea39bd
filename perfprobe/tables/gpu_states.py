"""Clocks, power, temperature and throttling of GPUs, as recorded and as summed up."""

from __future__ import annotations

from enum import IntFlag

from perfprobe.tables.columns import MOST_EVENTS, Combine, Int32, Int64, Table, column


class ThrottleReason(IntFlag):
    """Why a GPU does not run at its highest clock: nvmlClocksEventReasons in nvml.h."""

    IDLE = 0x1
    APPLICATION_CLOCKS = 0x2
    POWER_CAP = 0x4
    HARDWARE_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SOFTWARE_THERMAL_SLOWDOWN = 0x20
    HARDWARE_THERMAL_SLOWDOWN = 0x40
    POWER_BRAKE = 0x80
    DISPLAY_CLOCKS = 0x100


THERMAL_SLOWDOWN = ThrottleReason.SOFTWARE_THERMAL_SLOWDOWN | ThrottleReason.HARDWARE_THERMAL_SLOWDOWN
# The GPU is slowed down. Other reasons are idleness, and clocks that somebody has set.
THROTTLED = (
    ThrottleReason.POWER_CAP
    | ThrottleReason.HARDWARE_SLOWDOWN
    | THERMAL_SLOWDOWN
    | ThrottleReason.POWER_BRAKE
)


class GpuStates(Table, name="gpu_states", most_rows=MOST_EVENTS):
    """What a GPU in use reported of itself, through NVML once a second."""

    time_ns: Int64 = column("when it was read")
    device: Int32 = column("the driver's number of the device")
    sm_clock_mhz: Int64 = column("clock of the multiprocessors", unit="MHz", optional=True)
    memory_clock_mhz: Int64 = column("clock of the memory", unit="MHz", optional=True)
    power_mw: Int64 = column("power of the board", unit="mW", optional=True)
    temperature_c: Int64 = column("temperature of the GPU", unit="degrees Celsius", optional=True)
    throttle: Int64 = column("bits of `ThrottleReason`", optional=True)
    utilization_percent: Int64 = column(
        "share of NVML's last sample in which a kernel of any process ran", unit="percent", optional=True
    )
    used_bytes: Int64 = column("memory in use, by any process", optional=True)


class DeviceStates(Table):
    """The readings of one GPU. All but the first two columns are of its readings in use.

    In use: NVML's utilization is not 0, or the recorded program's work ran in the second before.
    """

    device: Int32 = column("the driver's number of the device")
    readings: Int64 = column("how often it was read", combine=Combine.SUM)
    in_use: Int64 = column("how many of these while it was in use", combine=Combine.SUM)
    sm_clock_mhz: Int64 = column("clock of the multiprocessors: median", unit="MHz", optional=True)
    least_sm_clock_mhz: Int64 = column("the lowest", unit="MHz", combine=Combine.LEAST, optional=True)
    most_sm_clock_mhz: Int64 = column("the highest", unit="MHz", combine=Combine.MOST, optional=True)
    memory_clock_mhz: Int64 = column("clock of the memory: median", unit="MHz", optional=True)
    power_mw: Int64 = column("power of the board: mean", unit="mW", optional=True)
    most_power_mw: Int64 = column("the highest", unit="mW", combine=Combine.MOST, optional=True)
    most_temperature_c: Int64 = column(
        "the highest temperature", unit="degrees Celsius", combine=Combine.MOST, optional=True
    )
    utilization_percent: Int64 = column("NVML's utilization: mean", unit="percent", optional=True)
    most_used_bytes: Int64 = column("most memory in use, by any process", combine=Combine.MOST, optional=True)
    judged: Int64 = column("readings that say whether the GPU was throttled", combine=Combine.SUM)
    throttled: Int64 = column("readings with a reason of `THROTTLED`", combine=Combine.SUM)
    power_cap: Int64 = column("readings with this reason: the limit of power", combine=Combine.SUM)
    thermal_slowdown: Int64 = column("readings with this reason: too hot", combine=Combine.SUM)
    hardware_slowdown: Int64 = column(
        "readings with this reason: the hardware slowed itself down", combine=Combine.SUM
    )
    power_brake: Int64 = column("readings with this reason: told by the power supply", combine=Combine.SUM)
    sync_boost: Int64 = column("readings with this reason: clocks equal to other GPUs'", combine=Combine.SUM)
    application_clocks: Int64 = column("readings with this reason: clocks that were set", combine=Combine.SUM)
