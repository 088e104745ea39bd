"""Whether the operators run efficiently: what `perfprobe bench` measured, and what it means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from perfprobe.models.verdicts import KINDS, MEANING
from perfprobe.report import columns, shorten
from perfprobe.report.base import Layout
from perfprobe.report.columns import Column, Placed
from perfprobe.report.efficiency_cells import (
    STYLES,
    factor,
    of_limit,
    threads_speedup,
    time_range,
    verdict_kind,
)
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Counterfactual, Measurement, Measurements
from perfprobe.tables.trace import shown_name

NARROW = 140  # below this many cells, words are abbreviated
_ORDER = (
    *("share", "operator", "signature", "line", "program", "isolated", "low-high", "warm"),
    *("of limit", "threads", "faults", "busy", "verdict"),
)
_INDENT = "    "
_LONGEST_INPUTS = 80  # cells, in sentences
_BUSY = 1.2  # wall by CPU time: with more of it the machine was doing other things
_ANSWERS = {  # what part of the time is what, by verdict
    "near a limit of this machine": ("compute-bound", "memory-bound", "element-rate-bound"),
    "below its limit": ("below ceiling",),
    "far below it": ("inefficient",),
    "mostly the cost of a call": ("overhead-bound",),
    "mostly page faults": ("allocation-bound",),
}


def efficiency(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The section of a recording's report."""
    measured = findings.measurements
    assert measured is not None
    yield heading("Efficiency", _measured_how(measured), layout.width)
    yield from _answer(measured, layout)
    yield from _rows(measured, layout)


def efficiency_of(measured: Measurements, layout: Layout) -> Iterator[RenderableType]:
    """The same by itself: the answer comes first."""
    yield from _answer(measured, layout)
    yield heading("Efficiency", _measured_how(measured), layout.width)
    yield from _rows(measured, layout)


def _rows(measured: Measurements, layout: Layout) -> Iterator[RenderableType]:
    """The table, what could not be answered and why, and what the words mean."""
    rows = [row for row in measured.rows if row.not_rebuilt is None]
    if rows:
        yield from _table(rows, layout)
        yield from _times(rows, layout)
    yield from _not_rebuilt(measured.rows, layout)
    for note in measured.notes:
        yield paragraph(printable(note), layout.width, "dim")
    if measured.stopped is not None:
        yield paragraph(f"Not all was measured: {printable(measured.stopped)}.", layout.width, "yellow")
    yield from _legend(rows, layout)


def _answer(measured: Measurements, layout: Layout) -> Iterator[RenderableType]:
    for row in measured.rows[:1]:
        place = os.path.basename(_place(row))
        call = f"{_call(row)} at {place}" if place else _call(row)
        yield paragraph(f"{call} {_takes(row)}{_verdict(row)}.", layout.width, "bold")
    parts = _parts(measured)
    if parts:
        yield paragraph(f"Of operator time: {', '.join(parts)}.", layout.width)


def _call(row: Measurement) -> str:
    inputs = shorten.cut(shorten.signature(printable(row.wanted.signature)), _LONGEST_INPUTS)
    return f"{shown_name(printable(row.wanted.operator), narrow=True)} {inputs}".rstrip()


def _takes(row: Measurement) -> str:
    if row.seen is None:
        return (
            f"takes {units.duration(row.rotating.value)}: "
            if row.rotating is not None
            else "was not measured: "
        )
    return f"takes {units.percent(row.seen.share)} of operator time: "


def _verdict(row: Measurement) -> str:
    """The sentence and the modifiers; the reason for what was not judged."""
    if row.verdict is None:
        return f"not rebuilt: {printable(row.not_rebuilt)}" if row.not_rebuilt is not None else "not judged"
    return "; ".join(map(printable, (row.verdict.text, *row.verdict.modifiers)))


def _parts(measured: Measurements) -> list[str]:
    """How the time of the calls is divided among the answers."""
    seen = [(verdict_kind(row), row.seen.share) for row in measured.rows if row.seen is not None]
    if not seen:
        return []
    known = [kind for kinds in _ANSWERS.values() for kind in kinds]
    shares = {text: sum(share for kind, share in seen if kind in kinds) for text, kinds in _ANSWERS.items()}
    shares["without an answer"] = sum(share for kind, share in seen if kind not in known)
    shares["not looked at"] = measured.left_out_share or 0
    return [f"{units.percent(share)} {text}" for text, share in shares.items() if share > 0]


def _measured_how(measured: Measurements) -> str:
    rows = [row for row in measured.rows if row.not_rebuilt is None]
    shares = [row.seen.share for row in rows if row.seen is not None]
    number = f"{len(measured.rows)} call{'' if len(measured.rows) == 1 else 's'}"
    number = f"{len(rows)} of {number}" if len(rows) < len(measured.rows) else number
    pieces = [
        f"{number}, {units.percent(sum(shares))} of operator time" if shares else number,
        *((_clock(rows), _processes(rows), _threads(rows)) if rows else ()),
        printable(measured.machine),
        f"torch {printable(measured.torch)}",
    ]
    return " · ".join(pieces)


def _clock(rows: Sequence[Measurement]) -> str:
    texts = {"cpu": "CPU time of the busiest thread", "wall": "wall time", "gpu": "time on the GPU"}
    return " or ".join(sorted({texts.get(row.clock, printable(row.clock)) for row in rows}))


def _processes(rows: Sequence[Measurement]) -> str:
    """Calls that processes do not agree on are measured in more."""
    numbers = [row.processes for row in rows]
    text = f"{min(numbers)} to {max(numbers)}" if min(numbers) < max(numbers) else f"{max(numbers)}"
    return f"{text} process{'' if text == '1' else 'es'}"


def _threads(rows: Sequence[Measurement]) -> str:
    numbers = sorted({row.wanted.threads for row in rows})
    return f"{', '.join(map(str, numbers))} thread{'s' if numbers != [1] else ''}"


def _table(rows: Sequence[Measurement], layout: Layout) -> Iterator[RenderableType]:
    """A line for each call, and below it what else is known: the rest of the verdict, what was tried."""
    placed = columns.fit(_columns(rows, layout), layout.width)
    first, *_, last = placed
    indent = first.width + columns.GAP if first.column.title == "share" else len(_INDENT)
    for at, row in enumerate(rows):
        yield columns.table([_cell(place, at) for place in placed], header=at == 0)
        for text in _below(row, cell_len(last.column.cells[at]) > last.width):
            yield _indented(text, layout.width, indent)


def _times(rows: Sequence[Measurement], layout: Layout) -> Iterator[RenderableType]:
    """That the times of the table are of two kinds, where they are."""
    seen = [row.seen for row in rows if row.seen is not None]
    if any(of.cpu_ns is None for of in seen) and any(row.clock == "cpu" for row in rows):
        note = "program: wall time there, waiting included; of a recording with --cpu-time all, CPU time."
        yield paragraph(note, layout.width, "dim")


def _cell(place: Placed, at: int) -> Placed:
    column = place.column
    styles = column.styles[at : at + 1]
    return Placed(replace(column, cells=[column.cells[at]], styles=styles), place.width)


def _indented(text: str, width: int, indent: int = len(_INDENT)) -> Text:
    blank = " " * indent
    return Text(blank + paragraph(text, width - indent).plain.replace("\n", f"\n{blank}"))


def _columns(rows: Sequence[Measurement], layout: Layout) -> list[Column]:
    narrow = layout.width < NARROW
    names = [shown_name(printable(row.wanted.operator), narrow=narrow) for row in rows]
    inputs = [shorten.signature(printable(row.wanted.signature)) for row in rows]
    times = [None if row.rotating is None else row.rotating.value for row in rows]
    numbers: list[tuple[str, list[str | None], int]] = [
        ("share", [None if row.seen is None else units.percent(row.seen.share) for row in rows], 0),
        ("program", [_in_program(row) for row in rows], 4),
        ("isolated", [None if time is None else units.duration(time) for time in times], 0),
        ("low-high", [time_range(row.rotating) if row.processes > 1 else None for row in rows], 5),
        ("warm", [None if row.warm is None else units.duration(row.warm.value) for row in rows], 6),
        ("of limit", [of_limit(row, interval=not narrow) for row in rows], 0),
        ("threads", [_factor(threads_speedup(row)) for row in rows], 3),
        ("faults", [units.amount(round(row.faults)) if row.faults else None for row in rows], 7),
        ("busy", [_contention(row) for row in rows], 7),
    ]
    found = {title: _number_column(title, cells, rank) for title, cells, rank in numbers}
    words: dict[str, Column | None] = {
        "operator": Column("operator", names, least=12, wish=18, style="bold"),
        "signature": Column("signature", inputs, 1, least=12, wish=26),
        "line": _line_column(rows),
        "verdict": _verdict_column(rows),
    }
    chosen = {**found, **words}
    return [column for name in _ORDER if (column := chosen[name]) is not None]


def _number_column(title: str, cells: Sequence[str | None], rank: int) -> Column | None:
    """None where no row has anything to show."""
    if not any(cells):
        return None
    return Column(title, [units.ABSENT if cell is None else cell for cell in cells], rank, align="right")


def _line_column(rows: Sequence[Measurement]) -> Column | None:
    """The line of the program that spends most time in each call, with a + where there are more."""
    places = [_place(row) for row in rows]
    names = shorten.file_names([place.rpartition(":")[0] for place in places if place])
    cells = []
    for row, place in zip(rows, places, strict=True):
        file, _, line = place.rpartition(":")
        more = "" if row.seen is None or len(row.seen.lines) < 2 else "+"
        cells.append(f"{names[file]}:{line}{more}" if place else units.ABSENT)
    return Column("line", cells, 3, style="cyan") if any(places) else None


def _place(row: Measurement) -> str:
    """`/p/train.py:12` of the hottest line; empty where none is known."""
    lines = () if row.seen is None else row.seen.lines
    return printable(lines[0]).partition(" in ")[0] if lines else ""


def _verdict_column(rows: Sequence[Measurement]) -> Column:
    kinds = [verdict_kind(row) for row in rows]
    texts = [printable(row.verdict.text) if row.verdict is not None else units.ABSENT for row in rows]
    styles = [STYLES.get(kind, "") for kind in kinds]
    return Column(
        "verdict", texts, least=max(map(cell_len, kinds)), wish=18, styles=styles, shorten=_shortened
    )


def _shortened(text: str, width: int) -> str:
    """The verdict's word alone: the sentence stands below."""
    return next((kind for kind in KINDS if text.startswith(kind)), shorten.cut(text, width))


def _in_program(row: Measurement) -> str | None:
    if row.seen is None or row.seen.calls < 1:
        return None
    whole_ns = row.seen.total_ns if row.seen.cpu_ns is None else row.seen.cpu_ns
    return units.duration(whole_ns / row.seen.calls)


def _factor(value: float | None) -> str | None:
    return None if value is None else factor(value)


def _contention(row: Measurement) -> str | None:
    return factor(row.contention) if row.contention is not None and row.contention > _BUSY else None


def _below(row: Measurement, cut: bool) -> Iterator[str]:
    """cut: whether the table could not show the whole verdict."""
    if cut:
        yield _verdict(row)
    elif row.verdict is not None and row.verdict.modifiers:
        yield "; ".join(map(printable, row.verdict.modifiers))
    if row.counterfactuals:
        yield f"tried, times as fast: {'; '.join(map(_tried, row.counterfactuals))}"


def _tried(one: Counterfactual) -> str:
    copied = ", copy included," if one.kind == "contiguous with copy" else ""
    interval = f"({one.speedup.low:.2f}-{one.speedup.high:.2f})"
    return f"{printable(one.change)}{copied} {factor(one.speedup.value)} {interval}"


def _not_rebuilt(rows: Sequence[Measurement], layout: Layout) -> Iterator[RenderableType]:
    left = [row for row in rows if row.not_rebuilt is not None]
    if left:
        shares = [row.seen.share for row in left if row.seen is not None]
        more = f"{units.percent(sum(shares))} of operator time" if shares else ""
        yield heading("Not rebuilt", more, layout.width)
    for row in left:
        share = "" if row.seen is None else f"{units.percent(row.seen.share)}  "
        yield _indented(f"{share}{_call(row)}: {printable(row.not_rebuilt or '')}", layout.width)


def _legend(rows: Sequence[Measurement], layout: Layout) -> Iterator[RenderableType]:
    kinds = dict.fromkeys(verdict_kind(row) for row in rows)
    for kind in kinds:
        if kind in MEANING:
            yield paragraph(f"{kind}: {MEANING[kind]}", layout.width, "dim")
