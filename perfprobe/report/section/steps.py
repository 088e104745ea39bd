"""The tables of loops and of the phases of their steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.baseline import added_text, baseline_rows, untraced_text
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.steps import LoopRow, PhaseRow, StepFindings
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import LEFT_OUT_TEXTS, StepMark
from perfprobe.tables.trace import Line

_SOURCES = {
    "program": "perfprobe.step()",
    "profiler": "torch.profiler",
    "optimizer": "optimizer steps",
    "loader": "batches",
    "module": "calls of the model",
    "backward": "backward",
}
_LEFT_OUT = {mark.name.lower(): mark for mark in LEFT_OUT_TEXTS}
_WORDS = {"training": "training step", "inference": "call", "evaluation": "evaluation"}


def step_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`loops` and `steps`, all of them; with `--baseline` also `baseline`."""
    found, untraced = StepFindings(findings), baseline_rows(findings)
    return {"loops": found.loops, "steps": found.steps, **({"baseline": untraced} if untraced else {})}


def phase_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`phases`."""
    return {"phases": StepFindings(findings).phases}


def steps(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each loop, and which steps its figures leave out; nothing for a program without steps."""
    found = StepFindings(findings)
    if not found.loops:
        return
    yield Heading("Steps", "only steady ones, without start-up")
    yield Table(_columns(found.loops))
    left_out = _left_out(found)
    if left_out:
        yield Paragraph(left_out, "dim")
    for row in baseline_rows(findings):
        yield Paragraph(
            f"{untraced_text(row)[0].upper()}{untraced_text(row)[1:]}, the traced ones beside it "
            f"{units.duration(row.traced_ns)}: recording added {added_text(row)}, by {row.pairs:,} pairs."
        )


def phases(findings: Findings, _: Choice) -> Iterator[Block]:
    """The phases of the steps of the leading loop, and of other loops of its kind."""
    found = StepFindings(findings)
    rows = [row for row in found.phases if is_named(row.share, least=OF_ROW)]
    for number, loop in enumerate(found.loops):
        own = [row for row in rows if row.loop == number]
        if own:
            yield Heading(f"Phases of {_name(loop)}", "wall time of the steps' own thread")
            yield Table(_phase_columns(own))


def _name(loop: LoopRow) -> str:
    word = _WORDS.get(loop.kind or "", "step")
    return f"{loop.steady:,} {word}{'' if loop.steady == 1 else 's'}"


def _columns(rows: Sequence[LoopRow]) -> list[Column]:
    libraries = [_place(row.library) for row in rows]
    return [
        Column("kind", [row.kind or units.ABSENT for row in rows], style="bold"),
        figures("steps", (units.count(row.steps) for row in rows)),
        figures("left out", (units.count(row.steps - row.steady) for row in rows), 2),
        figures("median", (units.duration(row.median_ns) for row in rows)),
        figures("p95", (units.duration(row.p95_ns) for row in rows), 1),
        figures("p99", (units.duration(row.p99_ns) for row in rows), 4),
        figures("together", (units.duration(row.total_ns) for row in rows), 3),
        figures("samples/s", (units.amount(row.samples_per_s) for row in rows), 2),
        figures("micro-batches", (units.count(row.micro_batches) for row in rows), 6),
        Column("found by", [_SOURCES.get(row.source or "", units.ABSENT) for row in rows], 5),
        Column("loop", [_place(row.line) for row in rows], style="cyan"),
        *([Column("within", libraries, 3)] if any(row.library for row in rows) else []),
    ]


def _phase_columns(rows: Sequence[PhaseRow]) -> list[Column]:
    overlaps = {
        "others busy": [row.beside_ns for row in rows],
        "GPU busy": [row.gpu_ns for row in rows],
        "children busy": [row.children_ns for row in rows],
    }
    return [
        figures("of steps", (units.percent(row.share) for row in rows), style="bold"),
        Column("phase", [row.phase for row in rows]),
        figures("median", (units.duration(row.median_ns) for row in rows), 1),
        figures("together", (units.duration(row.time_ns) for row in rows), 2),
        *(
            figures(title, map(units.duration, times_ns), 4)
            for title, times_ns in overlaps.items()
            if any(times_ns)
        ),
        Column("most of it", [_most(row) for row in rows], 3, style="cyan"),
    ]


def _most(row: PhaseRow) -> str:
    share = row.line_ns / row.time_ns if row.time_ns else 0
    return "" if row.line is None else f"{units.percent(share)} {_place(row.line)}"


def _place(line: Line | None) -> str:
    return units.ABSENT if line is None else shorten.place(line)


def _left_out(found: StepFindings) -> str:
    counted = Counter(_LEFT_OUT[row.mark] for row in found.steps if row.mark in _LEFT_OUT)
    return f"Not in the averages: {left_out_text(counted)}." if counted else ""


def left_out_text(counted: Mapping[StepMark, int]) -> str:
    """Returns how many steps averages leave out, and why: `2 warm-up, 1 outlier`."""
    plural = {StepMark.OUTLIER: "s"}
    return ", ".join(
        f"{count:,} {LEFT_OUT_TEXTS[mark]}{plural.get(mark, '') if count != 1 else ''}"
        for mark, count in counted.items()
    )
