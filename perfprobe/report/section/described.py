"""A section that shows a table as it is. Titles, meanings, formats and JSON follow from the table's columns.

It is made for each of `support.view.VIEWS` that has no section of its own. Its table is a finding of that
name, declared beside its pass: `slow_calls` for `slow-calls`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.section.block import Block, Heading, Section, Table
from perfprobe.report.section.heads import columns, heads_of
from perfprobe.tables.columns import Table as Found
from perfprobe.tables.findings import Findings

TOP = 10


def described(view: str) -> Section:
    """The section of this name. It shows `TOP` rows unless more are asked for; JSON has all."""
    name, title = view.replace("-", "_"), view.replace("-", " ").capitalize()

    def blocks(findings: Findings, choice: Choice) -> Iterator[Block]:
        table = findings.named(name)
        shown = table.take(slice(choice.most(TOP) or None))
        if len(table):
            more = f"{len(shown):,} of {len(table):,} rows" if len(shown) < len(table) else ""
            yield Heading(title, more)
            yield Table(
                columns(heads_of(type(table)), [row.values for row in described_rows(findings, shown)])
            )

    def tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
        return {name: described_rows(findings, findings.named(name).take(slice(choice.top or None)))}

    return Section(view, (name,), blocks, tables, titles=(title,), table=name)


def explained(section: Section, kind: type[Found]) -> Section:
    """The same section, with the meanings in the declaration of its table."""
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return replace(
        section,
        means=" ".join(first.split()),
        heads=heads_of(kind),
        json={kind.table_name: f"The section *{section.name}*."},
    )
