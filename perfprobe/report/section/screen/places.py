"""Names of lines and operators on the first screen."""

from __future__ import annotations

from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.support import units
from perfprobe.support.first_line import remark
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Diagnosis
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.trace import Line

_LARGE = 50


def facts_of(findings: Findings, each: Diagnosis) -> dict[str, Any]:
    """The figures and the line of a judgement's row."""
    return {"time_ns": each.time_ns, "share": each.share, "line": findings.trace.line(each.frame)}


def place_in(line: Line | None, before: str = ": ") -> tuple[str, ...]:
    """`: loader.py:11` and ` in __getitem__`, which a narrow screen leaves out; nothing without a line."""
    return () if line is None else (f"{before}{shorten.place(line)}", f" in {printable(line.function)}")


def at_line(line: Line) -> str:
    """`loader.py:11`, with a remark if that is only the first line of the function."""
    return f"{shorten.place(line)}{first_line(line)}"


def first_line(line: Line) -> str:
    """A remark if a line is only the first one of its function, or not that of the call, else ""."""
    return remark(line.function)


def has_lines(findings: Findings) -> bool:
    """Whether any operator has a line of the program."""
    hotspots = findings.get(Hotspots)
    rows = None if hotspots is None else hotspots.rows
    return rows is None or rows.has_lines()


def operator(row: OperatorRow) -> str:
    """`mm`, without overload, because inputs show it as well."""
    return (
        operator_text(row, brief=True).partition(".")[0] if row.operator else operator_text(row, brief=True)
    )


def inputs(row: OperatorRow, before: str) -> str:
    """`f32[64,512] f32[512,64]` with long lists shortened, after `before`; "" if not recorded."""
    return "" if row.signature is None else f"{before}{shorten.signature(signature_text(row))}"


def whole_percent(share: float) -> str:
    """`61 %`; "<1 %" for less."""
    return "<1 %" if 0 < share < 0.005 else f"{units.whole_percent(share)} %"


def at_most(factor: float) -> str:
    """`at most 2.6x`; how much more than 50x says nothing."""
    return f"at most {times(factor)}" if factor < _LARGE else "nearly all of the time"


def times(factor: float) -> str:
    """`2.6x`, `62x`."""
    return f"{units.tenths(factor)}x" if factor < 9.95 else f"{round(factor)}x"
