"""The table of sequences of short kernels: candidates for fusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.sequences import SequenceRow, sequence_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.gpu.cells import line_head, phase_head, rows_said, sorted_by
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.sequences import Sequences
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
    yield Table(columns(_COLUMNS, found.rows))
    yield Paragraph(
        "Each kernel took less time than its launch. One kernel for all of them (torch.compile, a foreach or "
        "fused variant) saves at most all but one of the launches, and the time between the kernels.",
        "dim",
    )


def _operators(row: SequenceRow) -> str:
    """`mul_, add_ 2, ...`: neighbours with one name are counted; and how often the sequence repeats."""
    names = [shown_name(name, narrow=True) or units.ABSENT for name in row.operators]
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    texts = [name if count == 1 else f"{name} x {count}" for name, count in runs]
    if len(texts) > _MOST_NAMES:
        texts = [*texts[:_MOST_NAMES], shorten.ELLIPSIS]
    again = f" (x {row.kernels // row.period})" if row.period < row.kernels else ""
    return printable(", ".join(texts)) + again


_COLUMNS: tuple[Head[Sequence[SequenceRow]], ...] = (
    figure(
        "total",
        "Time from the start of the first kernel to the end of the last, summed over all runs of the "
        "sequence.",
        lambda row: units.duration(row.total_ns),
        style="bold",
    ),
    figure(
        "GPU time", "The part of total during which the kernels ran.", lambda row: units.duration(row.gpu_ns)
    ),
    figure("in calls", "Time of the calls that launched them.", lambda row: units.duration(row.call_ns), 2),
    figure("times", "How often the sequence ran.", lambda row: units.count(row.times)),
    figure(
        "kernels",
        "Number of its kernels. Sequences are cut after 512 kernels.",
        lambda row: units.count(row.kernels),
    ),
    text(
        "operators",
        "Operators that launched them, in order. `x 2`: launched two in a row. The last number is how often "
        "the whole pattern repeats.",
        _operators,
        least=12,
        wish=24,
        style="bold",
    ),
    text(
        "module",
        "Module that launched all of them.",
        lambda row: row.module or units.ABSENT,
        4,
        shown=lambda row: row.module,
    ),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at, "Phase of the operators."),
)

SEQUENCES = Section(
    "sequences",
    (Sequences,),
    sequences,
    sequence_tables,
    titles=("Kernel sequences",),
    guide="gpu",
    means="Sequences of short kernels that a line or module launches again and again: candidates for fusion.",
    heads=_COLUMNS,
    json={"kernel_sequences": "The section *sequences*."},
)
