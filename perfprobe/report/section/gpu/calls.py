"""The table of calls of CUDA's API by name: the program's cost of launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.rows.gpu.chosen import ranked
from perfprobe.report.rows.row import mean_ns
from perfprobe.report.section.block import Block, Head, Heading, Section, Table
from perfprobe.report.section.gpu.cells import LONGEST, MEAN, absent, sorted_by
from perfprobe.report.section.heads import TableRows, columns, figure, of_table, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings, LaunchRows

TOP = 5


def call_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`api_calls`."""
    first = ranked(findings[GpuFindings].calls, "calls", choice.top or 0, "self")
    return {"api_calls": described_rows(findings, first)}


def calls(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing without calls, or with a focus."""
    whole = findings[GpuFindings].calls
    if len(whole) == 0 or findings.focus is not None:
        return
    rows = described_rows(findings, ranked(whole, "calls", choice.most(TOP), choice.sort))
    some = f"{len(rows)} of {len(whole)}" if len(rows) < len(whole) else f"{len(whole)}"
    in_all = f"{units.count(int(whole.calls.sum()))} calls, {units.duration(int(whole.total_ns.sum()))}"
    yield Heading("CUDA calls", f"{some} functions by {sorted_by(choice, 'calls')}; in all {in_all}")
    yield Table(columns(_COLUMNS, [row.values for row in rows]))


_COLUMNS: tuple[Head[TableRows], ...] = (
    of_table(LaunchRows, "total_ns", means="Time in the function."),
    of_table(LaunchRows, "calls", rank=1),
    figure("mean", MEAN, lambda row: units.duration(mean_ns(row["total_ns"], row["calls"])), 2),
    of_table(LaunchRows, "longest_ns", means=LONGEST, rank=4),
    figure(
        "failed",
        "Calls that returned an error.",
        lambda row: units.count(row["failed"]) if row["failed"] else "",
        2,
        shown=lambda row: row["failed"],
    ),
    text(
        "call",
        "Function of CUDA's API.",
        lambda row: absent(row["name"], "(unknown)"),
        least=20,
        style="bold",
    ),
)

CUDA_CALLS = Section(
    "cuda-calls",
    (GpuFindings,),
    calls,
    call_tables,
    titles=("CUDA calls",),
    guide="gpu",
    means="Functions of CUDA's API, and the time that they cost the program.",
    heads=_COLUMNS,
    json={"api_calls": "The section *cuda-calls*."},
)
