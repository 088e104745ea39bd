"""Steps and their parts as tables: the pass that watches the operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfprobe.analyse.loop.batches import Batches
from perfprobe.analyse.loop.begun import with_beginnings
from perfprobe.analyse.loop.events import Kind
from perfprobe.analyse.loop.graphs import graphs
from perfprobe.analyse.loop.idle import Idle, IdleTime
from perfprobe.analyse.loop.loop_function import StackTree
from perfprobe.analyse.loop.loops import ThreadLoop, loops
from perfprobe.analyse.loop.next_item import NextItem
from perfprobe.analyse.loop.pieces import Pieces, pieces
from perfprobe.analyse.loop.ranges import NamedSpans
from perfprobe.analyse.loop.regions import regions
from perfprobe.analyse.loop.start_up import after_first, by_time, one, start_up
from perfprobe.analyse.loop.summed import (
    Kept,
    event_rows,
    look_rows,
    loop_row,
    phase_rows,
    step_phase_rows,
    step_rows,
)
from perfprobe.analyse.loop.timeline import Timeline
from perfprobe.analyse.loop.training import Span
from perfprobe.analyse.loop.unrecorded import Unrecorded
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.steps import (
    Loops,
    Phases,
    StartUp,
    StartUpPart,
    StepEvents,
    StepKind,
    StepLooks,
    StepMark,
    StepPhase,
    StepPhases,
    Steps,
    StepTimes,
)
from perfprobe.tables.trace import Trace


class StepWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._regions = regions(trace)
        self._timeline = Timeline(trace, self._regions)
        self._ranges = NamedSpans(trace)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self._timeline.add(batch)
        self._ranges.add(batch)

    def result(self) -> StepTimes:
        """All loops and steps: the longest loop first, evaluations last."""
        tree, kept = StackTree(self._trace), []
        unrecorded, idle = Unrecorded(self._trace), Idle(self._trace)
        for found_loop in loops(self._timeline, self._ranges, tree, self._regions.caller):
            begun = with_beginnings(self._trace, found_loop)
            loop = replace(begun, spans=unrecorded.apart(begun.thread, begun.spans))
            spans, waited = idle.apart(loop, self._timeline.segments(loop.thread))
            loop = replace(loop, spans=spans)
            found, item = pieces(self._trace, loop, self._timeline, self._ranges, self._regions)
            row = {**self._ranges.rows, **self._timeline.rows}[loop.thread]
            kept += _by_kind(loop, found, item, row, waited)
        kept.sort(key=lambda each: (each.kind is StepKind.EVALUATION, -each.total_ns))
        return self._tables(tree, kept, unrecorded.first_ns())

    def _tables(self, tree: StackTree, kept: Sequence[Kept], unrecorded_ns: int | None) -> StepTimes:
        batches, parts = Batches(self._trace), []
        first = 0
        for number, each in enumerate(kept):
            steps = step_rows(each, number, batches, self._trace.recording.slowed_until_ns)
            parts.append(
                (
                    loop_row(self._trace, tree, each, steps),
                    steps,
                    step_phase_rows(each, first),
                    phase_rows(each, number, steps),
                    event_rows(each, first),
                    look_rows(each, first),
                )
            )
            first += len(steps)
        columns = list(zip(*parts, strict=True)) or [()] * 6
        loop_rows, steps = Loops.concat(columns[0]), Steps.concat(columns[1])
        events = StepEvents.concat(columns[4])
        steps = Steps(**steps.columns() | {"graph": graphs(self._trace.recording, steps, events)})
        per_step = StepPhases.concat(columns[2])
        until_ns = self._first_ns(kept, unrecorded_ns)
        rows = [self._before(kept, until_ns), _beyond(loop_rows, steps, per_step)]
        begin_ns = self._trace.start_ns
        return StepTimes(
            loops=loop_rows,
            steps=steps,
            events=events,
            step_phases=per_step,
            phases=Phases.concat(columns[3]),
            looks=StepLooks.concat(columns[5]),
            is_next=kept[0].item.is_next if kept else np.zeros(len(self._trace.recording[Stacks]), np.bool_),
            start_up=by_time(rows),
            start_up_ns=None if begin_ns is None or until_ns is None else max(until_ns - begin_ns, 0),
            after=self._after(kept, steps),
        )

    def _first_ns(self, kept: Sequence[Kept], unrecorded_ns: int | None) -> int | None:
        """Returns the start of the first step or evaluation of the leading loop; None without steps.

        unrecorded_ns: that of the first step whose operators were not recorded.
        """
        starts_ns = [span.start_ns for span in kept[0].spans] if kept else []
        earlier = [unrecorded_ns] if starts_ns and unrecorded_ns is not None else []
        return min([*starts_ns, *earlier], default=None)

    def _before(self, kept: Sequence[Kept], until_ns: int | None) -> StartUp:
        """The parts of the time before the first step; without steps, of the whole run."""
        until_ns = until_ns if until_ns is not None else self._trace.end_ns
        if until_ns is None:
            return StartUp.empty()
        return start_up(self._trace, until_ns, self._main(kept))

    def _main(self, kept: Sequence[Kept]) -> int | None:
        """The system's number of the main thread; if not known, of the leading loop's."""
        recording = self._trace.recording
        main = recording.os_threads()[:-1][recording.main_thread()[:-1]].tolist()
        return main[0] if main else kept[0].loop.thread if kept else None

    def _after(self, kept: Sequence[Kept], steps: Steps) -> StartUp:
        """What the main thread did after its first step and outside of all, also of those not recorded."""
        main, numbers = self._main(kept), self._trace.recording.os_threads()
        every = (steps, self._trace.recording[LiveSteps].counted())
        tables = [each.take(numbers[each.thread] == main) for each in every]
        begins_ns, ends_ns = (
            np.concatenate([getattr(each, name) for each in tables]) for name in ("start_ns", "end_ns")
        )
        return after_first(self._trace, begins_ns, ends_ns, main)


def _by_kind(loop: ThreadLoop, found: Pieces, item: NextItem, thread: int, idle: IdleTime) -> list[Kept]:
    """The steps of a thread, and separately its evaluations."""
    happened = (event.kind for span in loop.spans if not span.is_evaluation for event in span.events)
    trains = any(kind in (Kind.OPTIMIZER, Kind.BACKWARD) for kind in happened)
    rows: dict[StepKind, list[int]] = {}
    for at, span in enumerate(loop.spans):
        rows.setdefault(_kind(span, trains=trains), []).append(at)
    return [Kept(loop, kind, own, found, item, thread, idle) for kind, own in rows.items()]


def _kind(span: Span, *, trains: bool) -> StepKind:
    if span.is_evaluation:
        return StepKind.EVALUATION
    return StepKind.TRAINING if trains else StepKind.INFERENCE


def _beyond(loop_rows: Loops, steps: Steps, per_step: StepPhases) -> StartUp:
    """Returns how much longer warm-up steps took than the median step, and the time of compiling in steps."""
    if len(loop_rows) == 0:
        return StartUp.empty()
    own = np.flatnonzero((steps.loop == 0) & (steps.mark == StepMark.WARM_UP))
    warm_ns = np.maximum(steps.end_ns[own] - steps.start_ns[own] - loop_rows.median_ns[0], 0)
    compiling = (per_step.phase == StepPhase.COMPILE) & (steps.loop[per_step.step] == 0)
    compile_ns = int(per_step.time_ns[compiling].sum())
    parts: list[StartUp] = [
        one(StartUpPart.WARM_UP, int(warm_ns.sum())),
        one(StartUpPart.COMPILE, compile_ns),
    ]
    return StartUp.concat(parts)
