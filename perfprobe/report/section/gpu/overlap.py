"""The table of what ran at the same time on each GPU: computing, communication, copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.section.block import Block, Head, Heading, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.idle import IdleTimes

_Parts: TypeAlias = "Sequence[tuple[Mapping[str, Any], str]]"


def overlap_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_overlap`."""
    return {"gpu_overlap": described_rows(findings, findings[IdleTimes].overlaps)}


def overlap(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each kind of work of each GPU; nothing if only one kind ran, or with a focus."""
    rows = [row.values for row in described_rows(findings, findings[IdleTimes].overlaps)]
    parts = [(row, kind) for row in rows for kind in _KINDS if whole_ns(row, kind)]
    if findings.focus is not None or len(parts) <= len(rows):
        return
    yield Heading("GPU overlap", "work of different kinds at the same time")
    yield Table(columns(_COLUMNS, parts))


def whole_ns(row: Mapping[str, Any], *kinds: str) -> int:
    """Returns how long all of these kinds ran at the same time, in ns, with or without other kinds."""
    names = {name: name.removesuffix("_ns").split("_") for name in row if name not in ("device", "idle_ns")}
    return sum(
        row[name] for name, parts in names.items() if parts == ["all"] or all(kind in parts for kind in kinds)
    )


def _while(title: str, other: str, means: str) -> Head[_Parts]:
    """How much of each kind ran at the same time as another kind, if that ran at all."""

    def cell(of: tuple[Mapping[str, Any], str]) -> str:
        row, kind = of
        return "" if kind == other else units.percent(whole_ns(row, kind, other) / whole_ns(row, kind))

    return figure(title, means, cell, shown=lambda of: of[1] == other)


_KINDS = ("computing", "communicating", "copying")
_COLUMNS: tuple[Head[_Parts], ...] = (
    figure("GPU", "Number of the device.", lambda of: str(of[0]["device"])),
    text(
        "work",
        "Kernels that compute, kernels that communicate, or copies and fills.",
        lambda of: of[1],
        style="bold",
    ),
    figure("time", "Time during which at least one of them ran.", lambda of: units.duration(whole_ns(*of))),
    figure(
        "alone",
        "Share of that time during which nothing else ran.",
        lambda of: units.percent(of[0][f"{of[1]}_ns"] / whole_ns(*of)),
    ),
    _while("while computing", "computing", "Share of that time during which computing kernels ran too."),
    _while(
        "while communicating",
        "communicating",
        "Share of that time during which kernels that communicate ran too.",
    ),
    _while("while copying", "copying", "Share of that time during which copies or fills ran too."),
)

OVERLAP = Section(
    "overlap",
    (IdleTimes,),
    overlap,
    overlap_tables,
    titles=("GPU overlap",),
    guide="gpu",
    means="How long computing, communication and copies ran at the same time on each GPU.",
    heads=_COLUMNS,
    json={"gpu_overlap": "The section *overlap*."},
)
