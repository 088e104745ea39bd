"""Clocks, power and throttling of GPUs, in readings written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.analyse.gpu_states import device_states
from perfprobe.merge import link
from perfprobe.report.rows.row import values
from perfprobe.tables.gpu_states import ThrottleReason
from tests.analyse.gpu_readings import add_reading
from tests.build import Program

S = 1_000_000_000


def states(program: Program, folder: Path) -> list[dict[str, int]]:
    found = device_states(link(program.recording(folder)))
    return [] if found is None else list(values(found))


def test_figures_are_of_the_readings_in_use(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    add_reading(program, 1 * S, sm_clock_mhz=345, utilization_percent=0, power_mw=70_000, temperature_c=99)
    for second, clock in ((2, 1500), (3, 1980), (4, 1200), (5, 1700)):
        add_reading(
            program, second * S, sm_clock_mhz=clock, power_mw=100_000 * second, temperature_c=50 + second
        )
    (row,) = states(program, tmp_path)
    assert (row["readings"], row["in_use"], row["judged"], row["throttled"]) == (5, 4, 4, 0)
    clocks = (row["least_sm_clock_mhz"], row["sm_clock_mhz"], row["most_sm_clock_mhz"])
    assert clocks == (1200, 1500, 1980)
    assert (row["power_mw"], row["most_power_mw"], row["most_temperature_c"]) == (350_000, 500_000, 55)
    assert (row["memory_clock_mhz"], row["utilization_percent"], row["most_used_bytes"]) == (
        2600,
        80,
        1 << 30,
    )


@pytest.mark.parametrize("utilization", [0, -1])
def test_the_programs_own_work_is_use_too(utilization: int, tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.kernel("k", S * 3 // 2, S * 5 // 2, 1)
    program.kernel("of another", 0, 9 * S, 2, device=1)
    for second in range(1, 6):
        add_reading(program, second * S, utilization_percent=utilization, sm_clock_mhz=second)
    (row,) = states(program, tmp_path)
    assert (row["in_use"], row["least_sm_clock_mhz"], row["most_sm_clock_mhz"]) == (2, 2, 3)
    assert row["utilization_percent"] == utilization


def test_reasons_are_counted_by_their_bits(tmp_path: Path) -> None:
    masks = {  # nvmlClocksEventReason... of nvml.h
        0x1: (),
        0x2: ("application_clocks",),
        0x4: ("power_cap", "throttled"),
        0x8: ("hardware_slowdown", "throttled"),
        0x10: ("sync_boost",),
        0x20: ("thermal_slowdown", "throttled"),
        0x40 | 0x8: ("thermal_slowdown", "hardware_slowdown", "throttled"),
        0x60: ("thermal_slowdown", "throttled"),
        0x80 | 0x8: ("power_brake", "hardware_slowdown", "throttled"),
        0x100: (),
        1 << 40: (),
    }
    program = Program()
    program.thread(1)
    for second, mask in enumerate([*masks, -1, -7]):
        add_reading(program, second * S, throttle=mask)
    (row,) = states(program, tmp_path)
    assert (row["in_use"], row["judged"]) == (len(masks) + 2, len(masks))
    for name in ("throttled", "power_cap", "thermal_slowdown", "hardware_slowdown", "power_brake",
                 "sync_boost", "application_clocks"):  # fmt: skip
        assert row[name] == sum(name in reasons for reasons in masks.values()), name
    assert sum(ThrottleReason) == 0x1FF


def test_what_was_not_read_is_no_figure(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    names = ("sm_clock_mhz", "memory_clock_mhz", "power_mw", "temperature_c", "throttle", "used_bytes")
    add_reading(program, S, device=1, utilization_percent=100, **dict.fromkeys(names, -1))
    add_reading(program, 2 * S, device=3, power_mw=(1 << 63) - 1)  # a damaged file
    first, second = states(program, tmp_path)
    assert (first["device"], first["in_use"], first["judged"]) == (1, 1, 0)
    figures = set(first) - {"device", "readings", "in_use", "judged", "utilization_percent"}
    assert {first[name] for name in figures} == {-1, 0}
    assert first["sm_clock_mhz"] == first["power_mw"] == first["most_temperature_c"] == -1
    assert (second["device"], second["power_mw"]) == (3, -1)


def test_without_readings_there_is_nothing(tmp_path: Path) -> None:
    assert states(Program(), tmp_path) == []
