"""The table of sequences of short kernels: candidates for fusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.sequences import SequenceRow, sequence_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import rows_said, site_columns, sorted_by
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import shown_name

TOP = 8
_MOST_NAMES = 6


def sequence_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`kernel_sequences`."""
    return {"kernel_sequences": sequence_rows(findings, choice.top or 0).rows}


def sequences(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing without sequences."""
    found = sequence_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    yield Heading("Kernel sequences", rows_said(findings, found, sorted_by(choice, "times")))
    yield Table(_columns(found.rows))
    yield Paragraph(
        "Each kernel took less time than its launch. One kernel for all of them (torch.compile, a foreach or "
        "fused variant) saves at most all but one of the launches, and the time between the kernels.",
        "dim",
    )


def _columns(rows: Sequence[SequenceRow]) -> list[Column]:
    modules = [row.module or units.ABSENT for row in rows]
    return [
        figures("total", (units.duration(row.total_ns) for row in rows), style="bold"),
        figures("GPU time", (units.duration(row.gpu_ns) for row in rows)),
        figures("in calls", (units.duration(row.call_ns) for row in rows), 2),
        figures("times", (units.count(row.times) for row in rows)),
        figures("kernels", (units.count(row.kernels) for row in rows)),
        Column("operators", [_operators(row) for row in rows], least=12, wish=24, style="bold"),
        *([Column("module", modules, 4)] if any(row.module for row in rows) else []),
        *site_columns([row.at for row in rows]),
    ]


def _operators(row: SequenceRow) -> str:
    """`mul_, add_ 2, ...`: neighbours with one name are counted; and how often the sequence repeats."""
    names = [shown_name(name, narrow=True) or units.ABSENT for name in row.operators]
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    texts = [name if count == 1 else f"{name} x {count}" for name, count in runs]
    if len(texts) > _MOST_NAMES:
        texts = [*texts[:_MOST_NAMES], shorten.ELLIPSIS]
    again = f" (x {row.kernels // row.period})" if row.period < row.kernels else ""
    return printable(", ".join(texts)) + again
