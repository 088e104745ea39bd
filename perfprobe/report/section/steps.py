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
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.live_steps import Baseline
from perfprobe.tables.steps import LEFT_OUT_TEXTS, StepMark, StepTimes
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
    """`loops` and `steps`, all of them; if some were only timed also `baseline`."""
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
    yield Table(columns(_COLUMNS, found.loops))
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
            yield Table(columns(_OF_PHASES, own))


def _name(loop: LoopRow) -> str:
    word = _WORDS.get(loop.kind or "", "step")
    return f"{loop.steady:,} {word}{'' if loop.steady == 1 else 's'}"


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


_COLUMNS: tuple[Head[Sequence[LoopRow]], ...] = (
    text("kind", "training, inference or evaluation.", lambda row: row.kind or units.ABSENT, style="bold"),
    figure("steps", "Number of steps.", lambda row: units.count(row.steps)),
    figure(
        "left out",
        "Steps that averages leave out: warm-up, compiling, outliers, a last step that was cut off.",
        lambda row: units.count(row.steps - row.steady),
        2,
    ),
    figure("median", "Median duration of a steady step.", lambda row: units.duration(row.median_ns)),
    figure(
        "p95",
        "95th percentile of the durations of steady steps.",
        lambda row: units.duration(row.p95_ns),
        1,
    ),
    figure(
        "p99",
        "99th percentile of the durations of steady steps.",
        lambda row: units.duration(row.p99_ns),
        4,
    ),
    figure("together", "Sum of the times of all steady steps.", lambda row: units.duration(row.total_ns), 3),
    figure(
        "samples/s",
        "Batch size divided by the median, if a batch size is known.",
        lambda row: units.amount(row.samples_per_s),
        2,
    ),
    figure(
        "micro-batches",
        "Forward and backward passes for each optimizer step (gradient accumulation).",
        lambda row: units.count(row.micro_batches),
        6,
    ),
    text(
        "found by",
        "How the steps were found: by `perfprobe.step()`, torch.profiler's steps, the optimizer, the loader "
        "or the model.",
        lambda row: _SOURCES.get(row.source or "", units.ABSENT),
        5,
    ),
    text("loop", "Line of the program with the loop.", lambda row: _place(row.line), style="cyan"),
    text(
        "within",
        "Library function that contains the loop, such as a Trainer.",
        lambda row: _place(row.library),
        3,
        shown=lambda row: row.library,
    ),
)
_OF_PHASES: tuple[Head[Sequence[PhaseRow]], ...] = (
    figure(
        "of steps", "Share of the time of steady steps.", lambda row: units.percent(row.share), style="bold"
    ),
    text("phase", "Activity of the step's own thread.", lambda row: row.phase),
    figure("median", "Median time of the phase in a step.", lambda row: units.duration(row.median_ns), 1),
    figure("together", "Time of the phase in all steady steps.", lambda row: units.duration(row.time_ns), 2),
    figure(
        "others busy",
        "Time of the phase during which other threads ran operators.",
        lambda row: units.duration(row.beside_ns),
        4,
        shown=lambda row: row.beside_ns,
    ),
    figure(
        "GPU busy",
        "Time of the phase during which a GPU was busy.",
        lambda row: units.duration(row.gpu_ns),
        4,
        shown=lambda row: row.gpu_ns,
    ),
    figure(
        "children busy",
        "Time of the phase during which recorded child processes ran, by their samples.",
        lambda row: units.duration(row.children_ns),
        4,
        shown=lambda row: row.children_ns,
    ),
    text("most of it", "Line with the largest share of the phase.", _most, 3, style="cyan"),
)

STEPS = Section(
    "steps",
    (StepTimes,),
    steps,
    step_tables,
    shows=(GpuFindings, Baseline),
    titles=("Steps",),
    guide="steps",
    means="The loops that train, evaluate or infer, with the duration of their steady steps.",
    heads=_COLUMNS,
    json={
        "loops": "The section *steps*: the loops.",
        "steps": "Every step of every loop; in traces without a loop the steps of torch.profiler.",
        "baseline": "What recording added to a step, with `--baseline` or `--budget`.",
    },
)
PHASES = Section(
    "phases",
    (StepTimes,),
    phases,
    phase_tables,
    titles=("Phases",),
    guide="steps",
    means="The parts of steady steps: data, forward, backward, optimizer and others.",
    heads=_OF_PHASES,
    json={
        "phases": "The section *phases*.",
    },
)
