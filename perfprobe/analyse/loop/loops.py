"""The loops of a program: the steps of each thread, and the function that contains their loop.

Steps are found by the first of these that a thread has: `perfprobe.step()`, steps of torch.profiler,
optimizers. If nothing is trained, they are found by the loader and by calls of modules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.loop.events import Event, Kind, events
from perfprobe.analyse.loop.inference import inference_function, inference_steps
from perfprobe.analyse.loop.loop_function import LoopFunction, StackTree
from perfprobe.analyse.loop.ranges import NEXT, OPTIMIZER, PROFILER, PROGRAM, NamedSpans, Spans
from perfprobe.analyse.loop.timeline import Segments, Timeline
from perfprobe.analyse.loop.training import Span, training_function, training_steps, with_updates
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.steps import StepSource

_FEW_CALLS = 2  # a thread beside the training thread has a loop of its own from this many calls of modules on


@frozen
class ThreadLoop:
    """The steps of a thread. function: the function that contains their loop."""

    thread: int
    source: StepSource
    function: LoopFunction
    spans: Sequence[Span]


def loops(timeline: Timeline, ranges: NamedSpans, tree: StackTree, caller: Int32) -> list[ThreadLoop]:
    """The loops of all threads, in no order. caller: as in `Regions`."""
    threads = list({**timeline.rows, **ranges.rows})
    stepping = [thread for thread in threads if _has_step_ranges(ranges, thread)]
    found = []
    for thread in threads:
        own = timeline.segments(thread)
        others = _others(timeline, thread) if thread in stepping else Segments.empty()
        spans = {kind: ranges.of(thread, kind) for kind in (NEXT, OPTIMIZER)}
        happened = events(own, others, spans, caller, has_calls=timeline.has_calls(thread))
        loop = _loop(thread, own, happened, ranges, tree)
        if loop is None or not loop.spans:
            continue
        if thread not in stepping and stepping and not _is_loop_beside(happened):
            continue
        found.append(loop)
    return found


def _has_step_ranges(ranges: NamedSpans, thread: int) -> bool:
    """Whether ranges show steps of a thread."""
    kinds = (PROGRAM, PROFILER, OPTIMIZER)
    return any(len(ranges.of(thread, kind)) for kind in kinds) or len(ranges.marks(thread)) > 0


def _is_loop_beside(happened: Sequence[Event]) -> bool:
    """Whether a thread runs a model of its own while others train, rather than a part of their forward."""
    calls = [event for event in happened if event.kind is Kind.CALL]
    return len(calls) >= _FEW_CALLS and not any(event.is_trained for event in calls)


def _others(timeline: Timeline, thread: int) -> Segments:
    """The segments of all other threads, ordered by time."""
    rows = Segments.concat([timeline.segments(other) for other in timeline.threads() if other != thread])
    return rows.take(np.argsort(rows.start_ns, kind="stable"))


def _loop(
    thread: int, own: Segments, happened: list[Event], ranges: NamedSpans, tree: StackTree
) -> ThreadLoop | None:
    for kind, source in ((PROGRAM, StepSource.PROGRAM), (PROFILER, StepSource.PROFILER)):
        rows = ranges.of(thread, kind)
        ends_ns = ranges.marks(thread) if kind == PROGRAM and len(rows) == 0 else np.empty(0, np.int64)
        if len(rows) or len(ends_ns):
            spans = _filled(rows, happened) if len(rows) else _marked(ends_ns, own, happened)
            return ThreadLoop(thread, source, LoopFunction(tree, _stacks(spans)), spans)
    kinds = {event.kind for event in happened}
    if kinds >= {Kind.BACKWARD, Kind.CALL} and not _repeats(happened):
        return None
    if Kind.OPTIMIZER in kinds or kinds >= {Kind.BACKWARD, Kind.CALL}:
        source = StepSource.OPTIMIZER if Kind.OPTIMIZER in kinds else StepSource.BACKWARD
        happened = happened if Kind.OPTIMIZER in kinds else with_updates(happened)
        first_ns = int(own.start_ns[0]) if len(own) else happened[0].start_ns
        spans = training_steps(training_function(tree, happened), happened, first_ns)
        return ThreadLoop(thread, source, LoopFunction(tree, _stacks(spans)), spans)
    calls = [event for event in happened if event.kind in (Kind.NEXT, Kind.CALL)]
    if not any(event.kind is Kind.CALL for event in calls):
        return None
    function = inference_function(tree, calls)
    spans = inference_steps(function, calls, own)
    if len(spans) == 1 and not _is_most(spans[0], own):
        return None
    source = StepSource.LOADER if any(event.kind is Kind.NEXT for event in calls) else StepSource.MODULE
    return ThreadLoop(thread, source, function, spans)


def _is_most(span: Span, own: Segments) -> bool:
    """Whether a single call is most of what the thread did. A small one is no loop, and says nothing."""
    return 2 * (span.end_ns - span.start_ns) >= int(own.end_ns.max()) - int(own.start_ns.min())


def _repeats(happened: Sequence[Event]) -> bool:
    """Whether there is a loader, an optimizer or more than one backward: a single backward makes no loop."""
    backward = [at for at, event in enumerate(happened) if event.kind is Kind.BACKWARD]
    apart = backward[-1] - backward[0] >= len(backward) if backward else False
    return apart or any(event.kind in (Kind.OPTIMIZER, Kind.NEXT) for event in happened)


def _stacks(spans: Sequence[Span]) -> set[int]:
    """The stacks of the events in steps; also those in evaluations if one loop seems to run both."""
    evaluations = sum(span.is_evaluation for span in spans)
    both = 3 * evaluations > len(spans)  # an evaluation after every second step, or more often
    return {event.stack for span in spans if both or not span.is_evaluation for event in span.events}


def _filled(rows: Spans, happened: Sequence[Event]) -> list[Span]:
    """The steps that these ranges show, each with its events."""
    at_ns = np.array([event.at_ns for event in happened], np.int64)
    order = np.argsort(at_ns, kind="stable")
    first = np.searchsorted(at_ns[order], rows.start_ns, "left")
    last = np.searchsorted(at_ns[order], rows.end_ns, "right")
    return [
        Span(start_ns, end_ns, False, tuple(happened[at] for at in order[begin:end]))
        for start_ns, end_ns, begin, end in zip(
            *(column.tolist() for column in (rows.start_ns, rows.end_ns, first, last)), strict=True
        )
    ]


def _marked(ends_ns: Int64, own: Segments, happened: Sequence[Event]) -> list[Span]:
    """Steps of which only the ends are known. The first begins with the first event."""
    first = next((event.start_ns for event in happened), int(own.start_ns[0]))
    begins_ns = np.append(np.int64(min(first, int(ends_ns[0]))), ends_ns[:-1])
    return _filled(Spans(begins_ns, ends_ns, np.full(len(ends_ns), -1, np.int32)), happened)
