"""The table of measured calls: a line for each, and below it further facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from perfprobe.models.contention import is_contended
from perfprobe.models.verdicts import KINDS
from perfprobe.report import shorten
from perfprobe.report.section.block import Below, Column, Table
from perfprobe.report.section.efficiency_cells import (
    STYLES,
    factor,
    in_program_ns,
    of_limit,
    place_of,
    threads_speedup,
    time_range,
    verdict_kind,
    verdict_text,
)
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.measurements import Counterfactual, Measurement, Untried
from perfprobe.tables.trace import shown_name

_ORDER = (
    *("share", "operator", "signature", "line", "program", "isolated", "low-high", "warm"),
    *("of limit", "threads", "faults", "busy", "verdict"),
)


def efficiency_table(rows: Sequence[Measurement]) -> Table:
    """A line for each call, and below it the rest of the verdict and what was tried."""
    return Table(_columns(rows), below=Below(lambda at, is_cut: _below(rows[at], is_cut), "share"))


def _columns(rows: Sequence[Measurement]) -> list[Column]:
    names, briefs = (
        [shown_name(printable(row.wanted.operator), narrow=narrow) for row in rows]
        for narrow in (False, True)
    )
    inputs = [shorten.signature(printable(row.wanted.signature)) for row in rows]
    times = [None if row.rotating is None else row.rotating.value for row in rows]
    numbers: list[tuple[str, list[str | None], int]] = [
        ("share", [None if row.seen is None else units.percent(row.seen.share) for row in rows], 0),
        ("program", [_in_program(row) for row in rows], 4),
        ("isolated", [None if time is None else units.duration(time) for time in times], 0),
        ("low-high", [time_range(row.rotating) if row.processes > 1 else None for row in rows], 5),
        ("warm", [None if row.warm is None else units.duration(row.warm.value) for row in rows], 6),
        ("of limit", [of_limit(row, interval=True) for row in rows], 0),
        ("threads", [_factor(threads_speedup(row)) for row in rows], 3),
        ("faults", [units.amount(round(row.faults)) if row.faults else None for row in rows], 7),
        ("busy", [_contention(row) for row in rows], 7),
    ]
    found = {title: _number_column(title, cells, rank) for title, cells, rank in numbers}
    if (limits := found["of limit"]) is not None:
        found["of limit"] = replace(limits, brief=[of_limit(row) for row in rows])
    words: dict[str, Column | None] = {
        "operator": Column("operator", names, least=12, wish=18, style="bold", brief=briefs),
        "signature": Column("signature", inputs, 1, least=12, wish=26),
        "line": _line_column(rows),
        "verdict": _verdict_column(rows),
    }
    chosen = {**found, **words}
    return [column for name in _ORDER if (column := chosen[name]) is not None]


def _number_column(title: str, cells: Sequence[str | None], rank: int) -> Column | None:
    """A column of numbers; None if all cells are empty."""
    if not any(cells):
        return None
    return Column(title, [units.ABSENT if cell is None else cell for cell in cells], rank, align="right")


def _line_column(rows: Sequence[Measurement]) -> Column | None:
    """The line of the program that spends most time in each call, with a + if there are more lines."""
    places = [place_of(row) for row in rows]
    names = shorten.file_names([place.rpartition(":")[0] for place in places if place])
    cells = []
    for row, place in zip(rows, places, strict=True):
        file, _, line = place.rpartition(":")
        more = "" if row.seen is None or len(row.seen.lines) < 2 else "+"
        cells.append(f"{names[file]}:{line}{more}" if place else units.ABSENT)
    return Column("line", cells, 3, style="cyan") if any(places) else None


def _verdict_column(rows: Sequence[Measurement]) -> Column:
    kinds = [verdict_kind(row) for row in rows]
    texts = [printable(row.verdict.text) if row.verdict is not None else units.ABSENT for row in rows]
    styles = [STYLES.get(kind, "") for kind in kinds]
    return Column(
        "verdict", texts, least=max(map(cell_len, kinds)), wish=18, styles=styles, shorten=_shortened
    )


def _shortened(text: str, width: int) -> str:
    """Only the verdict's word: the sentence is below."""
    return next((kind for kind in KINDS if text.startswith(kind)), shorten.cut(text, width))


def _in_program(row: Measurement) -> str | None:
    there_ns = in_program_ns(row)
    return None if there_ns is None else units.duration(there_ns)


def _factor(value: float | None) -> str | None:
    return None if value is None else factor(value)


def _contention(row: Measurement) -> str | None:
    return factor(row.contention) if row.contention is not None and is_contended(row.contention) else None


def _below(row: Measurement, is_cut: bool) -> Iterator[str]:
    """The lines below a row. is_cut: whether the table could not show the whole verdict."""
    if is_cut:
        yield verdict_text(row)
    elif row.verdict is not None and row.verdict.modifiers:
        yield "; ".join(map(printable, row.verdict.modifiers))
    if row.counterfactuals:
        yield f"tried, times as fast: {'; '.join(_tried(one, row.processes) for one in row.counterfactuals)}"
    if row.untried:
        yield f"not tried: {'; '.join(map(_untried, row.untried))}"


def _untried(one: Untried) -> str:
    copied = ", copy included" if one.kind == "contiguous with copy" else ""
    what = f"{printable(one.change)}{copied}" if one.kind else "any change"
    return f"{what} ({printable(one.reason)})"


def _tried(one: Counterfactual, processes: int) -> str:
    copied = ", copy included," if one.kind == "contiguous with copy" else ""
    low, high = units.hundredths(one.speedup.low), units.hundredths(one.speedup.high)
    interval = f" ({low}-{high})" if processes > 1 else ""
    return f"{printable(one.change)}{copied} {factor(one.speedup.value)}{interval}"


MEANINGS: dict[str, str] = {
    "share": "The call's share of all operators' self time in the program.",
    "operator": "Torch's name for the operator.",
    "signature": "The operator's inputs.",
    "line": "The line with most of its time; + if there are other lines.",
    "program": "Time of a call in the recorded program. Wall time, unless recorded with `--detail bench`.",
    "isolated": "Time of the call by itself, on several copies of its operands in turn, so that these do "
    "not stay in the caches.",
    "low-high": "Lowest and highest time among the measuring processes.",
    "warm": "Time of the call by itself, on the same operands each time.",
    "of limit": "The call's speed as a share of the fastest that a limit of this machine allows. If there "
    "are several limits, the nearest counts. More than 100 % means an error in the model.",
    "threads": "Speed-up over one thread. If the program used one thread: the speed-up with all threads.",
    "faults": "Page faults of a call.",
    "busy": "Wall time divided by CPU time, if the machine was busy with other programs.",
    "verdict": "How close the call comes to a limit of this machine, and what would make it faster.",
}
