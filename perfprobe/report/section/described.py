"""A section made from the declarations of a table's columns, without code of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.rows.row import Values
from perfprobe.report.section.block import Block, Column, Heading, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables import columns
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line

TOP = 10
_UNITS: dict[str, Callable[[Any], str]] = {"ns": units.duration, "bytes": units.size}


def described(title: str, name: str, *, top: int = TOP) -> Section:
    """The section for the finding with this table name. It shows `top` rows; JSON has all."""

    def blocks(findings: Findings, choice: Choice) -> Iterator[Block]:
        table = findings.named(name)
        rows = described_rows(findings, table, choice.most(top))
        if rows:
            more = f"{len(rows):,} of {len(table):,} rows" if len(rows) < len(table) else ""
            yield Heading(title, more)
            yield Table([_column(declared, rows) for declared in type(table).described.values()])

    def tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
        return {name: described_rows(findings, findings.named(name), choice.top or 0)}

    return Section(title, (name,), blocks, tables)


def _column(declared: columns.Column, rows: Sequence[Values]) -> Column:
    found = [row.values[declared.name] for row in rows]
    title = declared.name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
    if declared.refers_to is None:
        return figures(title, (_UNITS.get(declared.unit, units.count)(value) for value in found))
    names = shorten.file_names([printable(value.file) for value in found if isinstance(value, Line)])
    return Column("line" if title == "frame" else title, [_text(value, names) for value in found], least=12)


def _text(value: Any, names: dict[str, str]) -> str:
    if isinstance(value, Line):
        return f"{names[printable(value.file)]}:{value.line} in {printable(value.function)}"
    return units.ABSENT if value is None else shorten.signature(printable(str(value)))
