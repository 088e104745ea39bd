"""Cells and headings that all tables about GPUs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.chosen import Chosen
from perfprobe.report.rows.gpu.site import Site
from perfprobe.report.rows.ranking import focus_text
from perfprobe.report.section.block import Column, Head
from perfprobe.report.section.figures import figures
from perfprobe.report.section.heads import TableRows, figure
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.phases import phase_column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import shown_name

MEAN = "Mean duration."
LONGEST = "Longest duration."
LAUNCHED_BY = "Operator that launched it."
PART = "+"  # beside sums that omit records without times


class Timed(Protocol):
    """Rows whose records may partly have no times."""

    @property
    def total_ns(self) -> int | None:
        """The sum of the records with times."""

    @property
    def untimed(self) -> int:
        """How many records have no times."""


Row = TypeVar("Row")
TimedRow = TypeVar("TimedRow", bound=Timed)


def sorted_by(choice: Choice, count: str) -> str:
    """The ranking of rows, in words."""
    return {"calls": count, "mean": "mean time"}.get(choice.sort, "time")


def rows_said(findings: Findings, found: Chosen[Any], by: str) -> str:
    """`8 of 31 rows by time`, and with a focus how many rows there are without it."""
    number = "1 row" if found.found == 1 else f"{found.found:,} rows"
    some = f"{len(found.rows):,} of {number}" if len(found.rows) < found.found else number
    focus = "" if findings.focus is None else f", focus {focus_text(findings.focus)} of {found.whole:,}"
    return f"{some} by {by}{focus}"


def total_column(rows: Sequence[Timed]) -> Column:
    """Sums of times, marked if some records have no times."""
    return figures("total", _marked(rows) if any(row.untimed for row in rows) else map(_total, rows))


def _total(row: Timed) -> str:
    return units.duration(row.total_ns)


def _marked(rows: Sequence[Timed]) -> Iterator[str]:
    for row in rows:
        yield _total(row) + (PART if row.untimed and row.total_ns is not None else " ")


def absent(text: str | None, otherwise: str = units.ABSENT) -> str:
    """The text, made fit to print; another one if it is not known."""
    return otherwise if text is None else printable(text)


def operator_text(operator: str | None, overload: str | None, *, brief: bool) -> str:
    """The operator, with its overload if known."""
    text = units.ABSENT if operator is None else shown_name(operator, narrow=brief)
    return printable(text if overload is None else f"{text}.{overload}")


def operator_column(names: Sequence[tuple[str | None, str | None]]) -> Column:
    """The operator and overload of each row."""
    cells, brief = ([operator_text(*name, brief=brief) for name in names] for brief in (False, True))
    return Column("operator", cells, 4, least=8, wish=14, brief=brief)


def operator_head(means: str, name: Callable[[Row], str | None]) -> Head[Sequence[Row]]:
    """The operator of each row, without its overload."""
    return Head("operator", means, lambda rows: operator_column([(name(row), None) for row in rows]))


def line_head(site: Callable[[Row], Site]) -> Head[Sequence[Row]]:
    """The line of each row."""
    return Head("line", "Line of the program.", lambda rows: line_column([site(row) for row in rows]))


def phase_head(site: Callable[[Row], Site], means: str = "Phase of that operator.") -> Head[Sequence[Row]]:
    """The phase of each row."""
    return Head("phase", means, lambda rows: phase_column([site(row).phase for row in rows]))


def total_head(means: str) -> Head[Sequence[TimedRow]]:
    """Sums of times, marked if some records have no times."""
    return Head("total", means, total_column)


# Which stream a row is about.
STREAM: tuple[Head[TableRows], ...] = (
    figure("GPU", "Number of the device.", lambda row: str(row["device"])),
    figure("stream", "Number of the stream.", lambda row: str(row["stream"]), style="bold"),
)
