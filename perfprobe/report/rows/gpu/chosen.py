"""Selects the rows of a table about GPUs: the first ones of those in focus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.row import values
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings

Row = TypeVar("Row")
SomeTable = TypeVar("SomeTable", bound=Table)


@frozen
class Chosen(Generic[Row]):
    """The first rows of a table. found: how many are in focus; whole: how many there are in total."""

    rows: Sequence[Row]
    found: int
    whole: int


def chosen(
    findings: Findings,
    table: Table,
    count: str,
    top: int,
    sort: str,
    row: Callable[[Mapping[str, Any]], Row],
) -> Chosen[Row]:
    """The rows in focus, largest first.

    Args:
        count: the column with the number of records in a row.
        top: how many rows, 0 for all.
        sort: one of `support.view.SORTS`; rows without that figure are sorted by time.
        row: makes a row from the values of a table's row.
    """
    found = in_focus(findings, table)
    first = ranked(found, count, top, sort)
    return Chosen([row(value) for value in values(first)], len(found), len(table))


def ranked(table: SomeTable, count: str, top: int, sort: str) -> SomeTable:
    """The first rows, ordered by time or by the figure that `sort` names; see `chosen`."""
    columns = table.columns()
    total_ns, number = columns["total_ns"], columns[count]
    keys = {"calls": number, "mean": total_ns / np.maximum(number, 1)}
    order = np.argsort(-keys.get(sort, total_ns), kind="stable")
    return table.take(order[: top or len(order)])
