"""The table of calls of CUDA's API by name: the program's cost of launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.calls import ApiCallRow, api_call_rows
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import sorted_by
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

TOP = 5


def call_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`api_calls`."""
    return {"api_calls": api_call_rows(findings, choice.top or 0)}


def calls(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing without calls, or with a focus."""
    whole = findings[GpuFindings].calls
    if len(whole) == 0 or findings.focus is not None:
        return
    rows = api_call_rows(findings, choice.most(TOP), choice.sort)
    some = f"{len(rows)} of {len(whole)}" if len(rows) < len(whole) else f"{len(whole)}"
    in_all = f"{units.count(int(whole.calls.sum()))} calls, {units.duration(int(whole.total_ns.sum()))}"
    yield Heading("CUDA calls", f"{some} functions by {sorted_by(choice, 'calls')}; in all {in_all}")
    yield Table(_columns(rows))


def _columns(rows: Sequence[ApiCallRow]) -> list[Column]:
    names = ["(unknown)" if row.name is None else printable(row.name) for row in rows]
    failed = [units.count(row.failed) if row.failed else "" for row in rows]
    return [
        figures("total", (units.duration(row.total_ns) for row in rows)),
        figures("calls", (units.count(row.calls) for row in rows), 1),
        figures("mean", (units.duration(row.mean_ns) for row in rows), 2),
        figures("longest", (units.duration(row.longest_ns) for row in rows), 4),
        *([figures("failed", failed, 2)] if any(failed) else []),
        Column("call", names, least=20, style="bold"),
    ]
