"""The time of a thread's steps by phase: the stretches that `paint` finds, summed by step and phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.devices import timed
from perfprobe.analyse.loop.covered import Covered, outside
from perfprobe.analyse.loop.idle import own_waits
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.next_item import NextItem, Sampled, at_next, next_item
from perfprobe.analyse.loop.paint import Layers, Looks, Painted, paint, usual_phases
from perfprobe.analyse.loop.ranges import NEXT, OPTIMIZER, ZERO_GRAD, NamedSpans
from perfprobe.analyse.loop.regions import Regions
from perfprobe.analyse.loop.timeline import Segments, Timeline, is_possible
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import wait_readings
from perfprobe.tables.columns import Int8, Int32, Int64, distinct
from perfprobe.tables.gpu import Copies, Kernels
from perfprobe.tables.intervals import around
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.trace import Trace

PHASES = len(StepPhase)
_STEPS_AT_ONCE = 8192


class Pieces(NamedTuple):
    """Times by step and phase; phase p of step s is at s * PHASES + p.

    beside_ns, gpu_ns, children_ns, waited_ns: the parts during which operators ran on other threads, work ran
    on a GPU, child processes ran, or the thread waited for a processor; None if none was recorded.
    look_...: of each sample its row, step (-1 none), phase, user line (a row of `Frames`), and the time it
    stands for.
    """

    time_ns: Int64
    beside_ns: Int64
    gpu_ns: Int64 | None
    children_ns: Int64 | None
    waited_ns: Int64 | None
    look_row: Int64
    look_step: Int64
    look_phase: Int8
    look_frame: Int32
    look_ns: Int64


def pieces(
    trace: Trace, loop: ThreadLoop, timeline: Timeline, ranges: NamedSpans, regions: Regions
) -> tuple[Pieces, NextItem]:
    """The steps of a thread by phase, and where the loop gets its next item."""
    own = timeline.segments(loop.thread)
    looks, samples, look_row = _looks(trace, loop.thread, regions)
    item = next_item(trace, loop, own, Sampled(looks, samples.stack, own_waits(trace, samples)))
    is_next = np.append(item.is_next, False)
    looks = looks._replace(phase=at_next(looks.phase, is_next[samples.stack]))
    own = Segments(**own.columns() | {"phase": at_next(own.phase, is_next[own.first])})
    others = Segments.concat([timeline.segments(each) for each in timeline.threads() if each != loop.thread])
    layers = Layers(
        segments=own if len(looks.time_ns) else _with_backward(own, others),
        within=timeline.within(loop.thread),
        data=ranges.of(loop.thread, NEXT),
        optimizer=ranges.of(loop.thread, OPTIMIZER),
        zero_grad=ranges.of(loop.thread, ZERO_GRAD),
        forward=ranges.forward(loop.thread),
        collections=ranges.collections(loop.thread),
        looks=looks,
    )
    bounds = np.array([(span.start_ns, span.end_ns) for span in loop.spans], np.int64)
    children = None if trace.children_ran is None else Covered(*trace.children_ran)
    beside, waited = Covered(others.start_ns, others.end_ns), _waited(trace, loop.thread)
    overlaps = (beside, _on_gpus(trace), children, waited)
    return _added(layers, bounds, overlaps, look_row), item


def _with_backward(own: Segments, others: Segments) -> Segments:
    """Add backward on autograd's threads to the time in which this thread does nothing known, as it waits.

    This is only needed without samples, which would show the waiting. Segments without a phase are removed,
    so that ranges around them count.
    """
    backward = _disjoint(others.take(others.phase == StepPhase.BACKWARD))
    own = own.take((own.phase != StepPhase.OTHER) | (own.anchor > 0))
    both = Segments.concat([own, _without(backward, own)])
    return both.take(np.argsort(both.start_ns, kind="stable"))


def _disjoint(rows: Segments) -> Segments:
    """The rows ordered by start, each shortened to begin where all before it have ended."""
    rows = rows.take(np.argsort(rows.start_ns, kind="stable"))
    before_ns = np.append(np.int64(0), np.maximum.accumulate(rows.end_ns)[:-1]) if len(rows) else rows.end_ns
    found = Segments(**rows.columns() | {"start_ns": np.maximum(rows.start_ns, before_ns)})
    return found.take(found.start_ns < found.end_ns)


def _without(rows: Segments, cuts: Segments) -> Segments:
    """The parts of the rows outside of all cuts. Both are ordered, and neither overlaps itself."""
    row, start_ns, end_ns = outside(rows.start_ns, rows.end_ns, cuts.start_ns, cuts.end_ns)
    return Segments(**rows.take(row).columns() | {"start_ns": start_ns, "end_ns": end_ns})


def _on_gpus(trace: Trace) -> Covered | None:
    """Returns when any GPU ran a kernel or a copy; None if no GPU was recorded."""
    rows = trace.recording
    return None if trace.gpu is None else Covered(*timed(rows[Kernels], rows[Copies]))


def _waited(trace: Trace, thread: int) -> Covered | None:
    """When a thread waited for a processor; None if it did not read that.

    It reads as soon as an operator begins or ends after a wait, so a wait is just before the reading.
    """
    rows = wait_readings(trace.recording, thread)
    return Covered(np.maximum(rows.end_ns - rows.wait_ns, rows.start_ns), rows.end_ns) if len(rows) else None


def _looks(trace: Trace, thread: int, regions: Regions) -> tuple[Looks, Samples, Int64]:
    """The samples of a thread ordered by time: as looks, as they are, and their rows."""
    samples = in_program(trace.recording)
    chosen = (trace.recording.os_threads()[samples.thread] == thread) & (samples.look == Look.READ)
    chosen &= (samples.stack >= 0) & is_possible(samples.start_ns, samples.end_ns)
    samples, row = samples.take(chosen), np.flatnonzero(chosen)
    time_ns = np.where(samples.looks > 0, samples.end_ns, samples.start_ns)
    order = np.argsort(time_ns, kind="stable")
    samples, time_ns = samples.take(order), time_ns[order]
    first_ns = (samples.end_ns - samples.start_ns) // np.maximum(samples.looks, 1)
    from_ns = np.minimum(samples.start_ns + first_ns // 2, time_ns)
    from_ns = np.maximum.accumulate(from_ns) if len(from_ns) else from_ns
    frame = np.append(trace.sites.frame, np.int32(-1))[samples.stack]
    phase = regions.phase[samples.stack]
    return Looks(from_ns, time_ns, phase, frame), samples, row[order]


def _added(
    layers: Layers,
    bounds: Int64,
    overlaps: tuple[Covered | None, ...],
    look_row: Int64,
) -> Pieces:
    """The painted time by step and phase, a row for each step. overlaps: as in `Pieces`."""
    looks = layers.looks
    sums = [None if known is None else np.zeros(len(bounds) * PHASES, np.int64) for known in (0, *overlaps)]
    look_phase = np.full(len(looks.time_ns), StepPhase.OTHER, np.int8)
    for painted in _stretches(layers, bounds):
        step = _step(bounds, painted.start_ns)
        inside = step >= 0
        key = step[inside] * PHASES + painted.phase[inside]
        start_ns, end_ns = painted.start_ns[inside], painted.end_ns[inside]
        for found, known in zip(sums, (None, *overlaps), strict=True):
            if found is not None:
                within_ns = end_ns - start_ns if known is None else known.within(start_ns, end_ns)
                some = within_ns > 0  # zeros that are never written take no memory
                np.add.at(found, key[some], within_ns[some])
        look_phase = _of_looks(looks, painted, look_phase)
    look_ns = np.diff(looks.from_ns, append=looks.time_ns[-1:]) if len(looks.time_ns) else looks.time_ns
    time_ns, beside_ns, gpu_ns, children_ns, waited_ns = sums
    assert time_ns is not None
    assert beside_ns is not None
    look_step = _step(bounds, looks.time_ns)
    return Pieces(
        *(time_ns, beside_ns, gpu_ns, children_ns, waited_ns, look_row, look_step, look_phase),
        look_frame=looks.frame,
        look_ns=look_ns,
    )


def _stretches(layers: Layers, bounds: Int64) -> Iterator[Painted]:
    """Yields the painted time of some steps at a time, so that memory does not grow with their number."""
    cuts, usual = distinct(bounds), usual_phases(layers)
    for first in range(0, max(len(cuts) - 1, 1), _STEPS_AT_ONCE):
        own = cuts[first : first + _STEPS_AT_ONCE + 1]
        yield paint(layers, usual, int(own[0]), int(own[-1]), own)


def _of_looks(looks: Looks, painted: Painted, phase: Int8) -> Int8:
    """Sets the phases of samples that are in or after what is painted; others keep theirs."""
    if len(painted.start_ns) == 0:  # a step of 0 ns
        return phase
    at = np.searchsorted(painted.start_ns, looks.time_ns, "right") - 1
    return np.where(at >= 0, painted.phase[at], phase)


def _step(bounds: Int64, time_ns: Int64) -> Int64:
    """The step at each time, -1 none."""
    return around(bounds[:, 0], bounds[:, 1], time_ns)
