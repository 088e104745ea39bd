"""The rows below the first screen's lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfprobe.models.seen import knows_python
from perfprobe.models.waiting import misleads
from perfprobe.report import shorten
from perfprobe.report.rows.device import DevicePart, DeviceRow, work_rows
from perfprobe.report.rows.named import OF_SCREEN, is_named
from perfprobe.report.rows.operators import OperatorRow, operator_rows, rows_of
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.section.block import Column, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.lines import Lines, cut_function
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.report.section.phases import phase_column
from perfprobe.report.section.screen.device import judged_by_gpu, part_text
from perfprobe.report.section.screen.places import has_lines
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import HottestOperator
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine

_NO_PYTHON = f"({NO_LINE_TEXTS[NoLine.NO_PYTHON]})"


def shown_rows(findings: Findings, most: int) -> tuple[str, list[OperatorRow]]:
    """Returns what shares are relative to, in words; and the rows, of the steps if there are any."""
    if findings.get(StepHotspots) is not None:
        title = "of call" if is_inference(findings[StepTimes]) else "of step"
        rows = step_operators(findings, slice(most or None))
    elif _long_calls_lead(findings):
        by_sum = findings[Hotspots].rows
        by_sum = by_sum.take(np.argsort(-by_sum.self_ns, kind="stable")[:most])
        title, rows = "share", rows_of(findings, by_sum)
    else:
        title, rows = "share", _by_typical_time(findings, most)
    rows = [row for at, row in enumerate(rows) if at == 0 or is_named(row.share, least=OF_SCREEN)]
    return title, _by_line(rows)


def _by_line(rows: Sequence[OperatorRow]) -> list[OperatorRow]:
    """The rows of each line together, the line with most time in them first."""
    sums: dict[Line | None, float] = {}
    for row in rows:
        sums[row.ran.origin] = sums.get(row.ran.origin, 0) + row.share
    places = sorted(sums, key=lambda line: -sums[line])
    return sorted(rows, key=lambda row: places.index(row.ran.origin))


def _long_calls_lead(findings: Findings) -> bool:
    found = findings.get(HottestOperator)
    return found is not None and found.long_calls_lead


def _by_typical_time(findings: Findings, most: int) -> list[OperatorRow]:
    """The first rows. If delays are a large part of their time, shares leave them out as the order does."""
    hotspots = findings.get(Hotspots)
    if hotspots is None:
        return []
    rows, typical_ns = operator_rows(findings, most, "self"), int(hotspots.rows.typical_ns.sum())
    if not misleads(hotspots.totals.self_ns, typical_ns):
        return rows
    return [replace(row, share=row.ran.typical_ns / max(typical_ns, 1)) for row in rows]


def rows_table(findings: Findings, most: int) -> Table | None:
    """Operator, signature, line, share, and the verdict if anything was measured; None without rows."""
    if judged_by_gpu(findings):
        return _gpu_table(findings, most)
    title, rows = shown_rows(findings, most) if most > 0 else ("", [])
    if not rows:
        return None
    names = _names(rows, with_lines=has_lines(findings), with_python=knows_python(findings.trace.recording))
    return Table([figures(title, (units.percent(row.share) for row in rows), style="bold"), *names])


def _gpu_table(findings: Findings, most: int) -> Table | None:
    """Operators and kernels by their time on the GPU."""
    rows = (
        [row for row in work_rows(findings, most) if is_named(row.share, least=OF_SCREEN)] if most > 0 else []
    )
    if not rows:
        return None
    lines, names = Lines(rows), [part_text(DevicePart.of(row)) for row in rows]
    signatures = [_inputs(row) for row in rows]
    found = [figures("of GPU", (units.percent(row.share) for row in rows), style="bold")]
    found.append(Column("operator", names, least=8, wish=16))
    if any(text != units.ABSENT for text in signatures):
        found.append(Column("signature", signatures, 2, least=10, wish=20))
    if any(row.line is not None for row in rows):
        least = max(lines.least, 8)
        found.append(
            Column("line", lines.cells, least=least, wish=lines.least, shorten=cut_function, style="cyan")
        )
    return Table([*found, phase_column([row.phase for row in rows])])


def _inputs(row: DeviceRow) -> str:
    if row.inputs > 1:
        return f"in {row.inputs:,} shapes"
    return shorten.signature(printable(row.signature)) if row.signature else units.ABSENT


def _names(rows: Sequence[OperatorRow], *, with_lines: bool, with_python: bool) -> list[Column]:
    """The columns of operators. What a trace does not have at all takes no room."""
    signatures = [shorten.signature(signature_text(row)) for row in rows]
    lines = Lines([row.ran for row in rows])
    cells = [_one_line(cell) for cell in lines.cells]
    if not with_python:
        cells = ["(not recorded)" if cell == _NO_PYTHON else cell for cell in cells]
    cells = [
        "" if at and row.ran.origin == rows[at - 1].ran.origin and cells[at] == cells[at - 1] else cells[at]
        for at, row in enumerate(rows)
    ]
    least = max(lines.least, 8)
    found = [Column("operator", [operator_text(row, brief=True) for row in rows], least=8, wish=16)]
    if any(row.signature is not None for row in rows):
        found.append(Column("signature", signatures, 2, least=10, wish=20))
    if with_lines:
        found.append(Column("line", cells, least=least, wish=lines.least, shorten=cut_function, style="cyan"))
    found.append(phase_column([row.ran.phase for row in rows]))
    if any(row.verdict for row in rows):
        found.append(Column("verdict", [row.verdict or units.ABSENT for row in rows], 1))
    return found


def _one_line(cell: str) -> str:
    """The first line of a cell; the next one would have the place of the forward call, or a reason."""
    return cell.partition("\n")[0]
