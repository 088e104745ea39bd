"""Makes the tables of steps: loops, their steps, and sums over the steady steps."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.loop.batches import Batches, micro_batches
from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.analyse.loop.idle import IdleTime
from perfprobe.analyse.loop.loop_function import NOWHERE, LoopFunction, StackTree
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.marks import marks, with_counted
from perfprobe.analyse.loop.next_item import NextItem
from perfprobe.analyse.loop.pieces import PHASES, Pieces
from perfprobe.analyse.loop.training import Span
from perfprobe.models.intervals import median_interval, percentile
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int64, Mask, among, distinct
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import (
    Loops,
    Phases,
    StepEvents,
    StepKind,
    StepLooks,
    StepMark,
    StepPhase,
    StepPhases,
    Steps,
)
from perfprobe.tables.trace import Trace

_RECURRING = (StepPhase.SAVING, StepPhase.LOGGING, StepPhase.RESULTS, StepPhase.DATA)
OVERLAPS = ("beside_ns", "gpu_ns", "children_ns")  # columns of `pieces`, also of the tables made of them
_EXAMINED = 64  # at most this many events of a step are examined to find the line of the loop
# By the kind of step: phases of the timeline that are reported as another phase.
_REPORTED = {
    StepKind.TRAINING: {},
    StepKind.INFERENCE: {StepPhase.COPY: StepPhase.DATA},
    StepKind.EVALUATION: {},
}


def reported(kind: StepKind, phase: Int8) -> Int8:
    """Phases of the timeline as reported for this kind of step."""
    for own, shown in _REPORTED[kind].items():
        phase = np.where(phase == own, np.int8(shown), phase).astype(np.int8)
    return phase


@frozen
class Kept:
    """The steps of one kind on a thread.

    rows: their numbers in `spans`. item: where the loop gets its next item. thread: a row of `threads`.
    idle: when the thread waited for requests between the steps.
    """

    loop: ThreadLoop
    kind: StepKind
    rows: Sequence[int]
    pieces: Pieces
    item: NextItem
    thread: int
    idle: IdleTime

    @property
    def spans(self) -> Sequence[Span]:
        """All steps and evaluations of the thread."""
        return self.loop.spans

    @property
    def total_ns(self) -> int:
        """The time of these steps, in ns."""
        return sum(self.spans[row].end_ns - self.spans[row].start_ns for row in self.rows)

    def by_phase(self, values: Int64, chosen: Mask | None = None) -> Int64:
        """Values of `pieces` as a table: a row for each (chosen) step, a column for each reported phase."""
        rows = np.array(self.rows, np.intp)
        table = values.reshape(-1, PHASES)[rows if chosen is None else rows[chosen]]
        for phase, reported in _REPORTED[self.kind].items():
            table[:, reported] += table[:, phase]
            table[:, phase] = 0
        return table

    def overlap(self, name: str, chosen: Mask | None = None) -> Int64:
        """What else ran in that time, such as beside_ns, as `by_phase` has it; all -1 if it is not known."""
        values: Int64 | None = getattr(self.pieces, name)
        if values is None:
            steps = len(self.rows) if chosen is None else int(np.count_nonzero(chosen))
            return np.broadcast_to(np.int64(-1), (steps, PHASES))
        return self.by_phase(values, chosen)

    def reported(self, phase: Int8) -> Int8:
        """The phases of samples as reported for this kind of step."""
        return reported(self.kind, phase)


def step_rows(kept: Kept, number: int, batches: Batches, slowed_until_ns: int) -> Steps:
    """A row for each step.

    Args:
        number: the row of their loop.
        slowed_until_ns: until when counting calls slowed the program, 0 if it did not.
    """
    spans = [kept.spans[row] for row in kept.rows]
    times_ns = kept.by_phase(kept.pieces.time_ns)
    recurring_ns = times_ns[:, list(_RECURRING)].sum(axis=1)
    start_ns, end_ns = (np.array([span[at] for span in spans], np.int64) for at in range(2))
    is_cut = np.array([span.is_cut for span in spans], np.bool_)
    traced = np.array([not span.is_baseline for span in spans], np.bool_)
    mark = np.full(len(spans), StepMark.BASELINE, np.int8)
    duration_ns, compile_ns = end_ns - start_ns, times_ns[:, StepPhase.COMPILE]
    mark[traced] = marks(duration_ns[traced], compile_ns[traced], recurring_ns[traced], is_cut[traced])
    mark = with_counted(mark, start_ns, slowed_until_ns)
    if kept.kind is StepKind.EVALUATION:
        mark = np.where(traced, np.int8(StepMark.STEADY), np.int8(StepMark.BASELINE))
    calls = [-1 if span.is_baseline else sum(e.kind is Kind.CALL for e in span.events) for span in spans]
    return Steps(
        start_ns=start_ns,
        end_ns=end_ns,
        thread=np.full(len(spans), kept.thread, np.int32),
        loop=np.full(len(spans), number, np.int32),
        kind=np.full(len(spans), kept.kind, np.int8),
        mark=mark,
        micro_batches=np.array([micro_batches(span.events) for span in spans], np.int32),
        calls=np.array(calls, np.int32),
        samples=np.array([batches.samples(span.events) for span in spans], np.int64),
        graph=np.full(len(spans), -1, np.int8),
    )


def loop_row(trace: Trace, tree: StackTree, kept: Kept, steps: Steps) -> Loops:
    """The row of the loop that runs these steps. Sums are over those that count."""
    chosen = steps.counted()
    duration_ns = steps.end_ns - steps.start_ns
    own_ns = duration_ns[chosen]
    middle = np.flatnonzero(chosen)[np.argsort(own_ns, kind="stable")[(len(own_ns) - 1) // 2]]
    frame, line, library_frame, library_line = _place(trace, tree, kept)
    low_ns, high_ns = median_interval(own_ns)
    values = {
        "thread": kept.thread,
        "kind": kept.kind,
        "source": kept.loop.source,
        "frame": frame,
        "line": line,
        "library_frame": library_frame,
        "library_line": library_line,
        "steps": len(steps),
        "steady": int(np.count_nonzero(chosen)),
        "left_out_ns": int(duration_ns[~chosen].sum()),
        "total_ns": int(own_ns.sum()),
        "idle_ns": kept.idle.time_ns,
        "idle_frame": kept.idle.frame,
        "median_ns": percentile(own_ns, 50),
        "low_ns": -1 if low_ns is None else int(low_ns),
        "high_ns": -1 if high_ns is None else int(high_ns),
        "p95_ns": percentile(own_ns, 95),
        "p99_ns": percentile(own_ns, 99),
        "micro_batches": int(steps.micro_batches[middle]),
        "samples": percentile(steps.samples[chosen & (steps.samples >= 0)], 50),
    }
    return Loops(**{name: np.array([values[name]], dtype) for name, dtype in Loops.dtypes.items()})


def _place(trace: Trace, tree: StackTree, kept: Kept) -> tuple[int, int, int, int]:
    """The user's line and the library's line of the loop: frame, line, library frame, library line."""
    frames, is_evaluation = trace.recording[Frames], kept.kind is StepKind.EVALUATION
    events = [event for row in kept.rows for event in kept.spans[row].events[:_EXAMINED]]
    if is_evaluation:  # it may begin with the end of the training's loader
        events = [event for event in events if event.kind is Kind.CALL] or events
    function = LoopFunction(tree, [event.stack for event in events]) if is_evaluation else kept.loop.function
    # An inner loop, over time or micro-batches, may call forward. The loop itself calls the optimizer.
    ends = [event for row in kept.rows for event in kept.spans[row].events[-_EXAMINED:]]
    updates = [event for event in ends if event.kind is Kind.OPTIMIZER]
    children = _within(function, updates) or _within(function, events)
    if not children:
        return NOWHERE, NOWHERE, NOWHERE, NOWHERE
    child = min(children, key=tree.line)
    line = tree.line(child) if is_evaluation or kept.item.line == NOWHERE else kept.item.line
    own, user = tree.frame(child), int(trace.sites.frame[child])
    is_users = user >= 0 and all(
        getattr(frames, name)[own] == getattr(frames, name)[user] for name in ("file", "function", "line")
    )
    if is_users:
        return user, line, NOWHERE, NOWHERE
    return user, int(frames.line[user]) if user >= 0 else NOWHERE, own, line


def _within(function: LoopFunction, events: Sequence[Event]) -> set[int]:
    """The stacks in which the loop's function calls these events."""
    return {child for event in events if (child := function.child(event.stack)) != NOWHERE}


def step_phase_rows(kept: Kept, first: int) -> StepPhases:
    """The phases of each step. first: the row of the first step."""
    times_ns = kept.by_phase(kept.pieces.time_ns)
    times_ns[[kept.spans[row].is_baseline for row in kept.rows]] = 0
    step, phase = np.nonzero(times_ns)
    time_ns = times_ns[step, phase]
    del times_ns  # such a table takes a hundred bytes a step: there is never more than one
    return StepPhases(
        step=(step + first).astype(np.int32),
        phase=phase.astype(np.int8),
        time_ns=time_ns,
        **{name: kept.overlap(name)[step, phase] for name in (*OVERLAPS, "waited_ns")},
    )


def look_rows(kept: Kept, first: int) -> StepLooks:
    """The samples taken in these steps. first: the row of the first step."""
    found = kept.pieces
    row_of = np.full(len(kept.spans) + 1, -1, np.int32)
    row_of[list(kept.rows)] = np.arange(first, first + len(kept.rows))
    step = row_of[found.look_step]
    here = step >= 0
    phase = kept.reported(found.look_phase)
    return StepLooks(step[here], found.look_row[here], phase[here], found.look_ns[here])


def event_rows(kept: Kept, first: int) -> StepEvents:
    """Returns what happened in each step. first: the row of the first step."""
    found = array("q")
    for at, row in enumerate(kept.rows):
        for event in kept.spans[row].events:
            found.extend((at + first, event.kind, event.start_ns, event.end_ns))
    columns = np.array(found, np.int64).reshape(-1, 4).T
    return StepEvents(columns[0].astype(np.int32), columns[1].astype(np.int8), columns[2], columns[3])


def phase_rows(kept: Kept, number: int, steps: Steps) -> Phases:
    """The phases of all steps that count, most time first. number: the row of their loop."""
    chosen = steps.counted() & (steps.mark != StepMark.BASELINE)
    if not bool(chosen.any()):  # they were only timed
        return Phases.empty()
    times_ns = kept.by_phase(kept.pieces.time_ns, chosen)
    sums_ns = times_ns.sum(axis=0)
    phases = np.argsort(-sums_ns, kind="stable")
    phases = phases[sums_ns[phases] > 0]
    median_ns = np.array([percentile(times_ns[:, phase], 50) for phase in phases], np.int64)
    del times_ns  # see `step_phase_rows`
    places = [_line(kept, chosen, int(phase), int(sums_ns[phase])) for phase in phases]
    return Phases(
        loop=np.full(len(phases), number, np.int32),
        phase=phases.astype(np.int8),
        time_ns=sums_ns[phases],
        median_ns=median_ns,
        **{name: _summed(kept.overlap(name, chosen))[phases] for name in OVERLAPS},
        frame=np.array([frame for frame, _ in places], np.int32),
        frame_ns=np.array([time_ns for _, time_ns in places], np.int64),
    )


def _summed(overlap_ns: Int64) -> Int64:
    return np.where(overlap_ns.min(axis=0) < 0, -1, overlap_ns.sum(axis=0))


def _line(kept: Kept, chosen: Mask, phase: int, time_ns: int) -> tuple[int, int]:
    """The user line that samples of a phase show most, and its time in ns. time_ns: that of the phase."""
    found = kept.pieces
    steps = np.array(kept.rows)[chosen]
    chosen_looks = (kept.reported(found.look_phase) == phase) & among(found.look_step, steps)
    if not bool(chosen_looks.any()):
        return NOWHERE, 0
    frames = distinct(found.look_frame[chosen_looks])
    at = np.searchsorted(frames, found.look_frame[chosen_looks])
    looks_ns = np.bincount(at, np.maximum(found.look_ns[chosen_looks], 1))
    frame, whole_ns = int(frames[np.argmax(looks_ns)]), float(looks_ns.sum())
    return (NOWHERE, 0) if frame < 0 else (frame, int(time_ns * float(looks_ns.max()) / whole_ns))
