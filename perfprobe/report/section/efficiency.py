"""Whether the operators run efficiently: results of `perfprobe bench`, and what they mean."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.models.modifiers import PURE_COPY
from perfprobe.models.verdicts import MEANING
from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Block, Heading, Paragraph, Section
from perfprobe.report.section.efficiency_cells import (
    place_of,
    verdict_kind,
    verdict_text,
)
from perfprobe.report.section.efficiency_table import MEANINGS, efficiency_table
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Measurement, Measurements
from perfprobe.tables.trace import shown_name

TOP = 20  # rows in the report of a recording
INDENT = 4  # characters before lines below a row
_LONGEST_INPUTS = 80  # cells that inputs may take in a sentence
_ANSWERS = {  # by verdict: how to describe the time of its calls
    PURE_COPY: (PURE_COPY,),
    "near a limit of this machine": ("compute-bound", "memory-bound", "element-rate-bound"),
    "below its limit": ("below ceiling",),
    "far below it": ("inefficient",),
    "mostly the cost of a call": ("overhead-bound",),
    "mostly page faults": ("allocation-bound",),
    "not reproduced": ("not reproduced",),
}


def efficiency(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The section of a recording's report."""
    measured = findings[Measurements]
    yield Heading("Efficiency", _measured_how(measured))
    yield from _answer(measured)
    yield from _details(replace(measured, rows=measured.rows[: choice.most(TOP) or None]))


def efficiency_of(measured: Measurements) -> Iterator[Block]:
    """The complete page of `perfprobe bench`. The answer comes first."""
    yield from _answer(measured)
    yield Heading("Efficiency", _measured_how(measured))
    yield from _details(measured)


def _details(measured: Measurements) -> Iterator[Block]:
    """The table, calls without an answer and why, and what the words mean."""
    rows = [row for row in measured.rows if row.not_rebuilt is None]
    if rows:
        yield efficiency_table(rows)
        yield from _times(rows)
    yield from _not_rebuilt(measured.rows)
    for note in measured.notes:
        yield Paragraph(printable(note), "dim")
    if measured.stopped is not None:
        yield Paragraph(f"Not all was measured: {printable(measured.stopped)}.", "yellow")
    yield from _legend(rows)


def _answer(measured: Measurements) -> Iterator[Block]:
    for row in measured.rows[:1]:
        place = os.path.basename(place_of(row))
        call = f"{_call(row)} at {place}" if place else _call(row)
        yield Paragraph(f"{call} {_takes(row)}{verdict_text(row)}.", "bold")
    parts = _parts(measured)
    if parts:
        yield Paragraph(f"Of operator time: {', '.join(parts)}.")


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


def _parts(measured: Measurements) -> list[str]:
    """The parts of the calls' time by answer."""
    seen = [(_answer_of(row), row.seen.share) for row in measured.rows if row.seen is not None]
    if not seen:
        return []
    known = [kind for kinds in _ANSWERS.values() for kind in kinds]
    shares = {text: sum(share for kind, share in seen if kind in kinds) for text, kinds in _ANSWERS.items()}
    shares["without an answer"] = sum(share for kind, share in seen if kind not in known)
    shares["not measured"] = measured.left_out_share or 0
    return [f"{units.percent(share)} {text}" for text, share in shares.items() if share > 0]


def _answer_of(row: Measurement) -> str:
    """The verdict's word. A copy at its limit is its own kind, because the program may not need it."""
    is_copy = row.verdict is not None and PURE_COPY in row.verdict.modifiers
    return PURE_COPY if is_copy else verdict_kind(row)


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
    """A note, if processes disagree about some calls, that more processes can decide."""
    numbers = [row.processes for row in rows]
    text = f"{min(numbers)} to {max(numbers)}" if min(numbers) < max(numbers) else f"{max(numbers)}"
    return f"{text} process{'' if text == '1' else 'es'}"


def _threads(rows: Sequence[Measurement]) -> str:
    numbers = sorted({row.wanted.threads for row in rows})
    return f"{', '.join(map(str, numbers))} thread{'s' if numbers != [1] else ''}"


def _times(rows: Sequence[Measurement]) -> Iterator[Block]:
    """A note if some times in the table are CPU time and others wall time."""
    seen = [row.seen for row in rows if row.seen is not None]
    if any(of.cpu_ns is None for of in seen) and any(row.clock == "cpu" for row in rows):
        note = "program: wall time, waiting included; with --detail bench, CPU time."
        yield Paragraph(note, "dim")


def _not_rebuilt(rows: Sequence[Measurement]) -> Iterator[Block]:
    left = [row for row in rows if row.not_rebuilt is not None]
    if left:
        shares = [row.seen.share for row in left if row.seen is not None]
        more = f"{units.percent(sum(shares))} of operator time" if shares else ""
        yield Heading("Not rebuilt", more)
    for row in left:
        share = "" if row.seen is None else f"{units.percent(row.seen.share)}  "
        yield Paragraph(f"{share}{_call(row)}: {printable(row.not_rebuilt or '')}", indent=INDENT)


def _legend(rows: Sequence[Measurement]) -> Iterator[Block]:
    kinds = dict.fromkeys(verdict_kind(row) for row in rows)
    for kind in kinds:
        if kind in MEANING:
            yield Paragraph(f"{kind}: {MEANING[kind]}", "dim")


def measurement_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`measurements`."""
    return {"measurements": findings[Measurements].rows}


EFFICIENCY = Section(
    "efficiency",
    (Measurements,),
    efficiency,
    measurement_tables,
    titles=("Efficiency",),
    guide="bench",
    means="How close the measured operators come to a limit of this machine, after `perfprobe bench`.",
    meanings=MEANINGS,
    json={
        "measurements": "The section *efficiency*: what `perfprobe bench` measured for each call.",
    },
)
