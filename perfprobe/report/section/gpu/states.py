"""Clocks, power, temperature and throttling of each GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.states import StateRow, state_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Throttled


def state_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_state`: a row for each GPU."""
    return {"gpu_state": state_rows(findings)}


def states(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, and a line for each that was throttled."""
    rows = state_rows(findings)
    yield Heading("GPU state", "read once a second; figures of readings while the GPU was in use")
    yield Table(_columns(rows))
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


def _columns(rows: Sequence[StateRow]) -> list[Column]:
    def shares(title: str, name: str, rank: int) -> list[Column]:
        """Nothing if no reading has the reason."""
        found = [getattr(row, name) for row in rows]
        return [figures(title, map(units.percent, found), rank)] if any(found) else []

    return [
        figures("GPU", (str(row.device) for row in rows), style="bold"),
        figures("readings", (units.count(row.readings) for row in rows), 6),
        figures("in use", (units.count(row.in_use) for row in rows), 1),
        figures("throttled", (units.percent(row.throttled_share) for row in rows)),
        *shares("power cap", "power_cap_share", 2),
        *shares("thermal", "thermal_slowdown_share", 2),
        *shares("hardware", "hardware_slowdown_share", 2),
        *shares("power brake", "power_brake_share", 2),
        *shares("sync boost", "sync_boost_share", 7),
        *shares("clocks set", "application_clocks_share", 7),
        figures("SM clock", (units.clock(row.sm_clock_mhz) for row in rows)),
        figures("lowest", (units.clock(row.least_sm_clock_mhz) for row in rows), 3),
        figures("highest", (units.clock(row.most_sm_clock_mhz) for row in rows), 5),
        figures("maximum", (units.clock(row.maximum_clock_mhz) for row in rows), 1),
        figures("memory clock", (units.clock(row.memory_clock_mhz) for row in rows), 8),
        figures("power", (units.power(row.power_mw) for row in rows), 1),
        figures("most power", (units.power(row.most_power_mw) for row in rows), 4),
        figures("hottest", (units.temperature(row.most_temperature_c) for row in rows), 2),
        figures("memory used", (units.size(row.most_used_bytes) for row in rows), 9),
        *([Column("model", [row.name or "" for row in rows], 9)] if any(row.name for row in rows) else []),
    ]
