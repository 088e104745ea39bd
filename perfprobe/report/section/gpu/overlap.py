"""The table of what ran at the same time on each GPU: computing, communication, copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.idle import overlap_rows
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.tables.findings import Findings

_KINDS = ("computing", "communicating", "copying")
_WHILE = {
    "computing": "while computing",
    "communicating": "while communicating",
    "copying": "while copying",
}


def overlap_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_overlap`."""
    return {"gpu_overlap": overlap_rows(findings)}


def overlap(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each kind of work of each GPU; nothing if only one kind ran, or with a focus."""
    rows = [row.values for row in overlap_rows(findings)]
    parts = [(row, kind) for row in rows for kind in _KINDS if whole_ns(row, kind)]
    if findings.focus is not None or len(parts) <= len(rows):
        return
    yield Heading("GPU overlap", "work of different kinds at the same time")
    yield Table(_columns(parts))


def whole_ns(row: Mapping[str, Any], *kinds: str) -> int:
    """Returns how long all of these kinds ran at the same time, in ns, with or without other kinds."""
    names = {name: name.removesuffix("_ns").split("_") for name in row if name not in ("device", "idle_ns")}
    return sum(
        row[name] for name, parts in names.items() if parts == ["all"] or all(kind in parts for kind in kinds)
    )


def _columns(parts: Sequence[tuple[Mapping[str, Any], str]]) -> list[Column]:
    def with_other(row: Mapping[str, Any], kind: str, other: str) -> str:
        return "" if kind == other else units.percent(whole_ns(row, kind, other) / whole_ns(row, kind))

    alone = (units.percent(row[f"{kind}_ns"] / whole_ns(row, kind)) for row, kind in parts)
    known = {kind for _, kind in parts}
    return [
        figures("GPU", (str(row["device"]) for row, _ in parts)),
        Column("work", [kind for _, kind in parts], style="bold"),
        figures("time", (units.duration(whole_ns(row, kind)) for row, kind in parts)),
        figures("alone", alone),
        *(
            figures(title, (with_other(row, kind, other) for row, kind in parts))
            for other, title in _WHILE.items()
            if other in known
        ),
    ]
