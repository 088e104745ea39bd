"""Clocks, power, temperature and throttling of each GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.states import StateRow, state_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.judgements import Throttled


def state_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_state`: a row for each GPU."""
    return {"gpu_state": state_rows(findings)}


def states(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, and a line for each that was throttled."""
    rows = state_rows(findings)
    yield Heading("GPU state", "read once a second; figures of readings while the GPU was in use")
    yield Table(columns(_COLUMNS, rows))
    for row in throttled_rows(findings):
        said = throttled_text(row, units.percent(row.throttled_share))
        yield Paragraph(f"GPU {row.device} was {said}.", "yellow")


def throttled_rows(findings: Findings) -> list[StateRow]:
    """Those that were throttled for a noteworthy time."""
    found = findings.get(Throttled)
    return [] if found is None else [row for row in state_rows(findings) if row.device in found.devices]


def throttled_text(row: StateRow, share: str) -> str:
    """`throttled in 62 % of readings: power cap`, of a row that was throttled. share: in words."""
    return f"throttled in {share} of readings: {row.cause}"


_COLUMNS: tuple[Head[Sequence[StateRow]], ...] = (
    figure("GPU", "Number of the device.", lambda row: str(row.device), style="bold"),
    figure("readings", "How often it was read.", lambda row: units.count(row.readings), 6),
    figure(
        "in use",
        "How many of these readings while it was in use: NVML saw a kernel of any process, or work of the "
        "program ran in the second before. All other figures are of these readings.",
        lambda row: units.count(row.in_use),
        1,
    ),
    figure(
        "throttled",
        "Share of readings in which power, temperature or the hardware kept the clocks down.",
        lambda row: units.percent(row.throttled_share),
    ),
    figure(
        "power cap",
        "Share of readings with this reason: the board is at its limit of power.",
        lambda row: units.percent(row.power_cap_share),
        2,
        shown=lambda row: row.power_cap_share,
    ),
    figure(
        "thermal",
        "Share of readings with this reason: the GPU or its memory is too hot.",
        lambda row: units.percent(row.thermal_slowdown_share),
        2,
        shown=lambda row: row.thermal_slowdown_share,
    ),
    figure(
        "hardware",
        "Share of readings with this reason: the hardware has slowed itself down, for power or temperature.",
        lambda row: units.percent(row.hardware_slowdown_share),
        2,
        shown=lambda row: row.hardware_slowdown_share,
    ),
    figure(
        "power brake",
        "Share of readings with this reason: the power supply told the board to slow down.",
        lambda row: units.percent(row.power_brake_share),
        2,
        shown=lambda row: row.power_brake_share,
    ),
    figure(
        "sync boost",
        "Share of readings with this reason: the clocks are held equal to those of other GPUs. Not "
        "throttling.",
        lambda row: units.percent(row.sync_boost_share),
        7,
        shown=lambda row: row.sync_boost_share,
    ),
    figure(
        "clocks set",
        "Share of readings with this reason: somebody has set the clocks (`nvidia-smi -ac`). Not throttling.",
        lambda row: units.percent(row.application_clocks_share),
        7,
        shown=lambda row: row.application_clocks_share,
    ),
    figure("SM clock", "Clock of the multiprocessors: median.", lambda row: units.clock(row.sm_clock_mhz)),
    figure(
        "lowest", "Lowest clock of the multiprocessors.", lambda row: units.clock(row.least_sm_clock_mhz), 3
    ),
    figure(
        "highest", "Highest clock of the multiprocessors.", lambda row: units.clock(row.most_sm_clock_mhz), 5
    ),
    figure(
        "maximum",
        "Highest clock of the multiprocessors that the driver allows.",
        lambda row: units.clock(row.maximum_clock_mhz),
        1,
    ),
    figure("memory clock", "Clock of the memory: median.", lambda row: units.clock(row.memory_clock_mhz), 8),
    figure("power", "Power of the board: mean.", lambda row: units.power(row.power_mw), 1),
    figure("most power", "Highest power of the board.", lambda row: units.power(row.most_power_mw), 4),
    figure(
        "hottest",
        "Highest temperature of the GPU, in degrees Celsius.",
        lambda row: units.temperature(row.most_temperature_c),
        2,
    ),
    figure(
        "memory used",
        "Most memory in use on the device, by any process.",
        lambda row: units.size(row.most_used_bytes),
        9,
    ),
    text("model", "Name of the device.", lambda row: row.name or "", 9, shown=lambda row: row.name),
)

GPU_STATE = Section(
    "gpu-state",
    (DeviceStates,),
    states,
    state_tables,
    titles=("GPU state",),
    guide="gpu",
    means="Clocks, power and temperature of each GPU, read once a second, and how often it was throttled.",
    heads=_COLUMNS,
    json={"gpu_state": "The section *gpu-state*: each GPU that was read."},
)
