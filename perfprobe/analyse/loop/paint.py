"""The phase of every moment of a thread, from operators, ranges, samples and garbage collections.

Time between two operators of one region has the phase of that region; otherwise it has the phase of a range
around it. If there is neither, or if the gap is long, it has the phase that samples in the gap show; without
any, the phase that they show in the same gap of other steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.loop.ranges import Spans
from perfprobe.analyse.loop.timeline import Segments
from perfprobe.analyse.loop.usual import UsualPhases
from perfprobe.tables.columns import Int8, Int32, Int64, distinct
from perfprobe.tables.intervals import around
from perfprobe.tables.steps import StepPhase

_SHORT_NS = 1_000_000  # longer gaps between operators of one region have the phase that samples show
_UNKNOWN = np.int8(-1)


class Looks(NamedTuple):
    """Samples of a thread ordered by the time they were taken, and the phase that each shows.

    from_ns: the time from which a sample is more likely to be right than the one before. frame: the user
    line.
    """

    from_ns: Int64
    time_ns: Int64
    phase: Int8
    frame: Int32


class Painted(NamedTuple):
    """Consecutive stretches of one phase."""

    start_ns: Int64
    end_ns: Int64
    phase: Int8


class Layers(NamedTuple):
    """What is known of a thread: outermost segments, segments within operators, ranges, and samples."""

    segments: Segments
    within: Segments
    data: Spans
    optimizer: Spans
    zero_grad: Spans
    forward: Spans  # only of threads without Python stacks
    collections: Spans
    looks: Looks


def paint(layers: Layers, usual: UsualPhases, first_ns: int, last_ns: int, cuts: Int64) -> Painted:
    """The phases from first_ns to last_ns. A new stretch begins at each time in `cuts`."""
    operators = (layers.segments, layers.within)
    exact = (*operators, layers.collections)
    changes = [*_fences(layers), *(time for rows in exact for time in (rows.start_ns, rows.end_ns))]
    time_ns = np.concatenate([[first_ns, last_ns], cuts, layers.looks.from_ns, *changes])
    time_ns = distinct(time_ns[(time_ns >= first_ns) & (time_ns <= last_ns)])
    start_ns, end_ns = time_ns[:-1], time_ns[1:]
    phase = _between(layers, usual, start_ns)
    for rows in operators:
        at = around(rows.start_ns, rows.end_ns, start_ns)
        phase = np.where(at >= 0, np.append(rows.phase, _UNKNOWN)[at], phase)
    for spans, own in ((layers.data, StepPhase.DATA), (layers.collections, StepPhase.COLLECTION)):
        phase = np.where(around(spans.start_ns, spans.end_ns, start_ns) >= 0, np.int8(own), phase)
    return Painted(start_ns, end_ns, phase.astype(np.int8))


def usual_phases(layers: Layers) -> UsualPhases:
    """What the samples of all steps show. An import happens once, so it is not usual."""
    looks = layers.looks
    usual = looks.phase != StepPhase.IMPORT
    of_looks = (column[usual] for column in (looks.from_ns, looks.time_ns, looks.phase))
    return UsualPhases(layers.segments, np.sort(np.concatenate(_fences(layers))), *of_looks)


def _fences(layers: Layers) -> list[Int64]:
    """Returns when ranges begin and end. A sample says nothing about the time beyond the next of these.

    Garbage collections are none of them: the same code runs before and behind.
    """
    spans = (layers.data, layers.optimizer, layers.zero_grad, layers.forward)
    return [time_ns for rows in spans for time_ns in (rows.start_ns, rows.end_ns)]


def _between(layers: Layers, usual: UsualPhases, start_ns: Int64) -> Int8:
    """The phase of each stretch if it lies between operators."""
    rows = layers.segments
    at = np.searchsorted(rows.start_ns, start_ns, "right") - 1  # the segment before it, -1 none
    before_ns = np.append(rows.end_ns, np.int64(-1))[at]
    after_ns = np.append(rows.start_ns, np.int64(2**62))[np.minimum(at + 1, len(rows))]
    same = (rows.phase[1:] == rows.phase[:-1]) & (rows.anchor[1:] == rows.anchor[:-1]) & (rows.anchor[1:] > 0)
    fence_ns = np.sort(np.concatenate([[-1, 2**62], *_fences(layers)]))
    place = np.searchsorted(fence_ns, start_ns, "right") - 1
    before_ns, after_ns = np.maximum(before_ns, fence_ns[place]), np.minimum(after_ns, fence_ns[place + 1])
    in_region = np.append(same, [False, False])[at] & (at >= 0)
    phase = np.where(in_region, np.append(rows.phase, _UNKNOWN)[at], np.int8(StepPhase.OTHER))
    looked = _looked(layers.looks, start_ns, before_ns, after_ns)
    asks = ~in_region | (after_ns - before_ns > _SHORT_NS)
    phase = np.where(asks & (looked >= 0), looked, phase)
    elsewhere = usual.at(start_ns, at)
    phase = np.where(~in_region & (looked < 0) & (elsewhere >= 0), elsewhere, phase)
    for spans, own in (
        (layers.optimizer, StepPhase.OPTIMIZER),
        (layers.zero_grad, StepPhase.ZERO_GRAD),
        (layers.forward, StepPhase.FORWARD),
    ):
        covered = around(spans.start_ns, spans.end_ns, start_ns) >= 0
        phase = np.where(covered & (phase == StepPhase.OTHER), np.int8(own), phase)
    return phase.astype(np.int8)


def _looked(looks: Looks, start_ns: Int64, before_ns: Int64, after_ns: Int64) -> Int8:
    """The phase of the most likely sample in the same gap, -1 without one."""
    found = np.full(len(start_ns), _UNKNOWN, np.int8)
    if len(looks.time_ns) == 0:
        return found
    nearest = np.searchsorted(looks.from_ns, start_ns, "right") - 1
    for at in (nearest - 1, nearest + 1, nearest):
        place = np.clip(at, 0, len(looks.time_ns) - 1)
        time_ns = looks.time_ns[place]
        is_here = (place == at) & (before_ns <= time_ns) & (time_ns <= after_ns)
        found = np.where(is_here, looks.phase[place], found).astype(np.int8)
    return found
