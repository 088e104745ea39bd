"""The table of hot operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfprobe.models.left_out import left_out_by
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.memory import device_of
from perfprobe.report.rows.named import OF_NOTE, is_named
from perfprobe.report.rows.operators import OperatorRow, operator_rows
from perfprobe.report.rows.ranking import focus_text, rows_shown
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Section, Shown, Table
from perfprobe.report.section.efficiency_cells import efficiency_columns
from perfprobe.report.section.figures import MARK, least_ns
from perfprobe.report.section.lines import Lines
from perfprobe.report.section.operator_columns import (
    MEANINGS,
    Operators,
    operator_columns,
    operator_text,
    signature_text,
)
from perfprobe.report.section.torch_columns import torch_columns
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine, Phase, Trace

TOP = 20
_TITLES = {"line": "Operators by line", "module": "Operators by module"}
_INNER_NOTE = "Without CPU time: operators that ran inside others. --detail bench times all of them."
_MOST_FUNCTIONS = 3
_MOST_MARKED = 3  # rows that the note on marks lists


class _RowLine(NamedTuple):
    """The line of one row, for `Lines`. line, forward, reason: see there."""

    line: Line | None
    forward: Line | None = None
    reason: str | None = None


def operator_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`hotspots`."""
    return {"hotspots": operator_rows(findings, choice.top or 0, choice.sort)}


def hot_operators(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table, or why there is none."""
    hotspots = findings[Hotspots]
    if len(hotspots.rows) == 0 and hotspots.whole_rows > 0:
        rows = units.count(hotspots.whole_rows)
        text = f"No operators match {focus_text(hotspots.focus)}; without it there are {rows} rows."
        yield Paragraph(text, "yellow")
        return
    if len(hotspots.rows) == 0:
        yield Paragraph(f"No operators{why_none(findings, hotspots)}.", "yellow")
        return
    shown = operator_rows(findings, choice.most(TOP), choice.sort)
    least = least_ns(findings.trace.recording)
    table = Operators(hotspots, shown, choice, least, device_of(findings))
    yield Heading(_TITLES.get(hotspots.group, "Hot operators"), _rows_shown(table))
    yield Table(
        _columns(table),
        notes=lambda seen: [*_notes_on_rows(table, seen), *_notes(hotspots, findings.trace)],
        whole=[signature_text(row) for row in shown],
    )


def _columns(table: Operators) -> list[Column]:
    if table.choice.columns == "autograd":
        return torch_columns(table)
    return [*operator_columns(table), *efficiency_columns([row.measurement for row in table.rows])]


def _rows_shown(table: Operators) -> str:
    hotspots, shown = table.hotspots, table.rows
    number = rows_shown(len(hotspots.rows), len(shown), table.choice.sort)
    self_ns = (row.ran.self_ns for row in shown)
    gpu_ns = (row.ran.recorded["gpu_self_ns"] or 0 for row in shown)
    text = f"{number}, {_share(table, self_ns, gpu_ns)}"
    if hotspots.focus is None:
        return text
    of = f"{len(hotspots.rows):,} of {hotspots.whole_rows:,} rows"
    rows = hotspots.rows
    share = _share(table, rows.self_ns.tolist(), np.maximum(rows.gpu_self_ns, 0).tolist())
    whole = f"focus {focus_text(hotspots.focus)}: {of}, {share}"
    return whole if len(shown) == len(hotspots.rows) else f"{whole}; {text}"


def _share(table: Operators, self_ns: Iterable[int], gpu_self_ns: Iterable[int]) -> str:
    hotspots = table.hotspots
    if table.choice.sort == "gpu":
        part = sum(gpu_self_ns) / max(hotspots.gpu_self_ns, 1)
        return f"{units.percent(part)} of operators' time on GPUs"
    return f"{units.percent(sum(self_ns) / max(hotspots.totals.self_ns, 1))} of operator time"


def _notes_on_rows(table: Operators, seen: Shown) -> Iterator[str]:
    if table.choice.columns != "short" and seen.left_out:
        width = -(-seen.roomy // 10) * 10
        yield f"Left out at this width: {', '.join(seen.left_out)} (COLUMNS={width} shows all)."
    marked = [row for row in table.rows if row.ran.misleads]
    if marked and table.choice.columns != "autograd":
        yield _marked_note(table.rows, marked)
    if table.choice.columns == "autograd":
        yield _source_note(table)
    error = max((row.ran.quantile_error or 0 for row in table.rows), default=0)
    if is_named(error):
        error_text = units.percent(error)
        yield f"Median and p95 are within {error_text}: too many different rows for more precision."


def _marked_note(rows: Sequence[OperatorRow], marked: Sequence[OperatorRow]) -> str:
    """A note on rows marked ~: what they would be if their longest calls had taken the usual time."""
    places = dict(zip(map(id, rows), Lines([row.ran for row in rows]).own, strict=True))
    texts = []
    for row in marked[:_MOST_MARKED]:
        times = f"{units.duration(row.ran.typical_ns)}, not {units.duration(row.ran.self_ns)}"
        texts.append(f"self {times} ({_what(row, places[id(row)])})")
    more = f"; {len(marked) - len(texts):,} more" if len(marked) > len(texts) else ""
    return (
        f"{MARK} dominated by outliers: calls over three times as long as usual (pre-emption, first touch "
        f"of memory, a first call), or waiting. Typical time, by which the row is ranked: "
        f"{'; '.join(texts)}{more}."
    )


def _what(row: OperatorRow, place: str) -> str:
    """The operator at its line, or the row's other key if rows are not operators."""
    if row.operator is None:
        return place or printable(row.ran.module or units.ABSENT)
    return f"{operator_text(row, brief=True)}{f' at {place}' if place else ''}"


def _source_note(table: Operators) -> str:
    if table.from_autograd:
        return "Self CPU and CPU total: as the autograd profiler measured them."
    return (
        "Self CPU and CPU total: as perfprobe's own observer measured them; in CPU total, a call inside "
        "another of its row counts once."
    )


def _notes(hotspots: Hotspots, trace: Trace) -> Iterator[str]:
    if hotspots.focus is None:
        yield from _compile_note(hotspots)
    if hotspots.group != "row" or hotspots.focus is not None:
        return  # the following notes are about all rows
    if hotspots.totals.backward_ns > 0:
        yield _backward_note(hotspots)
    yield from _python_note(hotspots, trace)
    if hotspots.totals.outermost_ns and hotspots.totals.outermost_cpu_ns is not None:
        yield _cpu_note(hotspots, hotspots.totals.outermost_ns, hotspots.totals.outermost_cpu_ns)
        if bool((hotspots.rows.cpu_ns < 0).any()):
            yield _INNER_NOTE


def _compile_note(hotspots: Hotspots) -> Iterator[str]:
    rows, whole_ns = hotspots.ungrouped, max(hotspots.totals.self_ns, 1)
    share = int(rows.self_ns[rows.phase == Phase.COMPILE].sum()) / whole_ns
    if is_named(share):
        yield (
            f"Phase compile: {units.percent(share)} of operator time is torch.compile's tracing, in first "
            "calls; more of its time lies between operators, at the same lines. Without these rows: "
            "--focus '^(fwd|bwd|rec|oth|data)$'"
        )


def _backward_note(hotspots: Hotspots) -> str:
    rows, backward_ns = hotspots.rows, hotspots.totals.backward_ns
    of_reason = {
        no_line: int(rows.self_ns[(rows.phase == Phase.BACKWARD) & (rows.no_line == no_line)].sum())
        for no_line in NoLine
    }
    without = [
        f"{units.percent(of_reason[no_line] / backward_ns)} ({NO_LINE_TEXTS[no_line]})"
        for no_line in sorted(of_reason, key=lambda no_line: -of_reason[no_line])
        if no_line != NoLine.NONE and of_reason[no_line] > 0
    ]
    share = units.percent(hotspots.totals.linked_ns / backward_ns)
    text = f"Backward: {share} of its operator time has a line: its forward call's, unless both are given"
    return f"{text}; without: {', '.join(without)}." if without else f"{text}."


def _python_note(hotspots: Hotspots, trace: Trace) -> Iterator[str]:
    """Yields how long autograd ran Python, if that is much compared with the time of operators."""
    rows, strings = hotspots.rows, trace.recording[Strings]
    python_ns = int(rows.python_ns[rows.python_ns > 0].sum())
    if not is_named(python_ns, max(hotspots.totals.self_ns, 1), OF_NOTE):
        return
    texts = []
    for at in np.argsort(-rows.python_ns, kind="stable")[:_MOST_FUNCTIONS].tolist():
        if rows.python_ns[at] > 0:
            (place,) = Lines([_RowLine(trace.line(int(rows.frame[at])))]).own
            where = " ".join([Phase(rows.phase[at]).name.lower(), *([f"at {place}"] if place else [])])
            name, own_ns = printable(strings[int(rows.name[at])]), int(rows.python_ns[at])
            texts.append(f"{units.duration(own_ns)} {name} ({where})")
    most = "" if int(np.count_nonzero(rows.python_ns > 0)) == len(texts) else "most "
    yield (
        f"Python that autograd ran (Functions, hooks): {units.duration(python_ns)} outside of operators, "
        f"in no row's self: {most}{', '.join(texts)}."
    )


def _cpu_note(hotspots: Hotspots, outermost_ns: int, cpu_ns: int) -> str:
    what = "operators and ranges" if bool((hotspots.ranges.cpu_ns >= 0).any()) else "operators"
    start = f"CPU time: outermost {what} kept their own thread busy for"
    if cpu_ns >= outermost_ns:  # possible, because the CPU clock is read just outside of operators
        return f"{start} all of {units.duration(outermost_ns)}; that of other threads is not counted."
    return (
        f"{start} {units.duration(cpu_ns)} of {units.duration(outermost_ns)} "
        f"({units.percent(cpu_ns / outermost_ns)}); the rest was waiting, also for other threads, whose CPU "
        "time is not counted."
    )


def why_none(findings: Findings, hotspots: Hotspots) -> str:
    """Returns why there are no operators: the collector's reasons, otherwise what the recording shows."""
    losses, left_out = findings[Losses], left_out_by(findings.trace.recording, "operators")
    reasons = [
        printable(f"{reason}; {remedy}" if remedy else reason)
        for source, reason, remedy in zip(losses.source, losses.reason, losses.remedy, strict=True)
        if source == "operators"
    ]
    if left_out is not None and not reasons:
        reasons = [f"{left_out} left them out"]
    if reasons:
        return f": {'; '.join(reasons)}"
    if not findings.whole:
        return " in the part that could be read"
    if len(hotspots.ranges):
        return ": only ranges were recorded"
    if findings.trace.recording.is_trace:
        return ": the trace has none, record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
    if findings.trace.recording.fact("torch") is None:
        return ": the program never imported torch"
    return ": nothing ran through torch while it was recorded"


OPERATORS = Section(
    "operators",
    (Hotspots,),
    hot_operators,
    operator_tables,
    titles=(
        "Hot operators",
        "Operators by line",
        "Operators by module",
    ),
    means="The operators with most time, each with signature, line, module and phase. `--group` chooses "
    "what a row stands for.",
    meanings=MEANINGS,
    json={
        "hotspots": "The section *operators*.",
    },
)
