"""Rows of loops, of their steps and of the phases of steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from perfprobe.models.source_text import SourceText
from perfprobe.report.rows.gpu.devices import step_rows as gpu_step_rows
from perfprobe.report.rows.row import Values, inline, measured, place, plain, unwritten, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.steps import (
    INFERENCE_TEXTS,
    PHASE_TEXTS,
    StepKind,
    StepMark,
    StepPhase,
    StepSource,
    StepTimes,
)
from perfprobe.tables.trace import Line

_TIMES = ("left_out_ns", "total_ns", "idle_ns", "median_ns", "low_ns", "high_ns", "p95_ns", "p99_ns")
_FIGURES = ("steps", "steady", *_TIMES, "micro_batches", "samples")


@frozen(kw_only=True)
class LoopRow:
    """A loop of steps; figures as in `Loops`. line: the user's line. library: the line of a library's loop.

    samples_per_s: for the median step, None if the size of a batch is not known.
    """

    kind: str | None
    source: str | None
    line: Line | None = place()
    library: Line | None = place("library_")
    thread: int
    steps: int
    steady: int
    left_out_ns: int
    total_ns: int
    idle_ns: int
    median_ns: int | None
    low_ns: int | None
    high_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    micro_batches: int | None
    samples: int | None
    samples_per_s: float | None


@frozen(kw_only=True)
class StepRow:
    """A step; figures as in `Steps`. phases: its time by phase, in ns. gpu: what was launched in it."""

    step: int | None
    loop: int | None
    kind: str | None
    mark: str | None
    thread: int | None
    start_ns: int | None
    end_ns: int | None
    micro_batches: int | None
    calls: int | None
    samples: int | None
    graph: int | None
    phases: Mapping[str, int] | None
    gpu: Values = inline()


@frozen(kw_only=True)
class PhaseRow:
    """A phase of a loop's steady steps. share: its share of their time.

    line: the user line with most of it.
    """

    loop: int
    phase: str
    share: float
    time_ns: int
    median_ns: int
    beside_ns: int | None
    gpu_ns: int | None
    children_ns: int | None
    line: Line | None = place()
    line_ns: int
    code: StepPhase = unwritten()


class LoopLines:
    """Finds the lines of loops in the source, if it can be read."""

    def __init__(self, findings: Findings) -> None:
        self._trace = findings.trace
        self._source = SourceText(findings)
        self._known: dict[str, list[tuple[int, int]]] = {}

    def line(self, frame: int, line: int) -> Line | None:
        """The first line of the innermost loop around a line; the line itself if there is none."""
        at = self._trace.line(frame)
        if at is None:
            return None
        loops = self._loops(at.file)
        around = [first for first, last in loops if first <= line <= last]
        return at._replace(line=max(around, default=line))

    def _loops(self, file: str) -> list[tuple[int, int]]:
        if file not in self._known:
            self._known[file] = _loops_of(self._source.lines(file))
        return self._known[file]


def _loops_of(lines: list[str] | None) -> list[tuple[int, int]]:
    """First and last line of each loop; empty if the file cannot be parsed as Python."""
    try:
        tree = ast.parse("\n".join(lines or []))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    kinds = (ast.For, ast.AsyncFor, ast.While)
    found = (node for node in ast.walk(tree) if isinstance(node, kinds))
    return [(node.lineno, node.end_lineno or node.lineno) for node in found]


class StepFindings:
    """The rows of steps. Each list is made when it is first requested."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._times = findings[StepTimes]

    @cached_property
    def loops(self) -> list[LoopRow]:
        """A row for each loop, the leading one first."""
        lines = LoopLines(self._findings)
        return [self._loop(lines, value) for value in values(self._times.loops)]

    def _loop(self, lines: LoopLines, value: dict[str, int]) -> LoopRow:
        figures = {name: measured(value[name]) for name in _FIGURES}
        samples, median_ns = figures["samples"], figures["median_ns"]
        per_s = samples / median_ns * 1e9 if samples and median_ns else None
        library = lines.line(value["library_frame"], value["library_line"])
        own = self._findings.trace.line(value["frame"])
        if library is None:
            own = lines.line(value["frame"], value["line"])
        return LoopRow(
            kind=word(StepKind, value["kind"]),
            source=word(StepSource, value["source"]),
            line=own,
            library=library,
            thread=value["thread"],
            samples_per_s=per_s,
            **figures,  # type: ignore[arg-type]
        )

    @cached_property
    def phases(self) -> list[PhaseRow]:
        """The phases, ordered by loop, most time first."""
        loops = self._times.loops
        return [
            PhaseRow(
                loop=value["loop"],
                phase=phase_text(int(loops.kind[value["loop"]]), value["phase"]),
                code=StepPhase(value["phase"]),
                share=value["time_ns"] / max(int(loops.total_ns[value["loop"]]), 1),
                time_ns=value["time_ns"],
                median_ns=value["median_ns"],
                beside_ns=measured(value["beside_ns"]),
                gpu_ns=measured(value["gpu_ns"]),
                children_ns=measured(value["children_ns"]),
                line=self._findings.trace.line(value["frame"]),
                line_ns=value["frame_ns"],
            )
            for value in values(self._times.phases)
        ]

    @cached_property
    def steps(self) -> list[StepRow]:
        """The steps, ordered by loop and time; with a GPU also a row for work launched outside of steps."""
        times, phases = self._times, self._phases_of_steps()
        gpu = {(row["start_ns"], row["end_ns"]): row for row in self._on_gpu()}
        rows = [
            StepRow(
                step=at,
                kind=word(StepKind, value["kind"]),
                mark=word(StepMark, value["mark"]),
                phases=phases.get(at, {}),
                gpu=Values(_gpu_figures(gpu.get((value["start_ns"], value["end_ns"])))),
                **{name: measured(value[name]) for name in _STEP_FIGURES},
            )
            for at, value in enumerate(values(times.steps))
        ]
        if (None, None) in gpu:
            none = dict.fromkeys(("step", "kind", "mark", "phases", *_STEP_FIGURES))
            rows.append(StepRow(gpu=Values(_gpu_figures(gpu[None, None])), **none))
        return rows

    def _phases_of_steps(self) -> dict[int, dict[str, int]]:
        found: dict[int, dict[str, int]] = {}
        kinds = self._times.steps.kind.tolist()
        for value in values(self._times.step_phases):
            text = phase_text(kinds[value["step"]], value["phase"])
            found.setdefault(value["step"], {})[text] = value["time_ns"]
        return found

    def _on_gpu(self) -> Iterator[dict[str, int | None]]:
        gpu = self._findings.get(GpuFindings)
        return map(plain, gpu_step_rows(gpu)) if gpu is not None else iter(())


_STEP_FIGURES = ("loop", "thread", "start_ns", "end_ns", "micro_batches", "calls", "samples", "graph")


def _gpu_figures(row: dict[str, int | None] | None) -> dict[str, int | None]:
    own = ("step", "start_ns", "end_ns")
    return {} if row is None else {name: figure for name, figure in row.items() if name not in own}


def phase_text(kind: int, phase: int) -> str:
    """The name of a phase in steps of a kind."""
    texts = INFERENCE_TEXTS if kind == StepKind.INFERENCE else PHASE_TEXTS
    return texts.get(StepPhase(phase), "other")
