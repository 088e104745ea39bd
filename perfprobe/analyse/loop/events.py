"""The events of a loop: the loader's `next`, calls of modules, backward, steps of optimizers."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.loop.ranges import NEXT, OPTIMIZER, Spans
from perfprobe.analyse.loop.timeline import Segments
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.intervals import around
from perfprobe.tables.steps import EventKind, StepPhase

Kind = EventKind


class Event(NamedTuple):
    """An event of a step.

    site: a number that is equal for events from the same line. stack: that of its caller. is_trained: whether
    backward refers to operators of this call. first_signature, last_signature: of its operators.
    """

    kind: Kind
    start_ns: int
    end_ns: int
    site: int
    stack: int
    is_trained: bool = False
    first_signature: int = -1
    last_signature: int = -1

    @property
    def at_ns(self) -> int:
        """The time by which events are ordered. For an optimizer it is the end, as it may contain others."""
        return self.end_ns if self.kind is Kind.OPTIMIZER else self.start_ns


def events(
    own: Segments, others: Segments, ranges: dict[int, Spans], caller: Int32, *, has_calls: bool = False
) -> list[Event]:
    """The events of a thread in their order. Backward may run on other threads.

    Args:
        own: the segments of the thread.
        others: those of other threads, ordered by time.
        ranges: the thread's ranges, by `NEXT` and `OPTIMIZER`.
        caller: as in `Regions`.
        has_calls: whether the numbers of the calls of outermost modules are known.
    """
    nexts, optimizers = ranges[NEXT], ranges[OPTIMIZER]
    found = [*_spans(Kind.NEXT, nexts, caller), *_spans(Kind.OPTIMIZER, optimizers, caller)]
    outside = own.take(~_inside(own, nexts))
    found += (
        event._replace(stack=int(caller[event.stack])) for event in _calls(outside, has_calls=has_calls)
    )
    is_backward = (outside.phase == StepPhase.BACKWARD) | (outside.phase == StepPhase.RECOMPUTE)
    backward = outside.take(is_backward)
    if len(backward) == 0:
        backward = others.take(others.phase == StepPhase.BACKWARD)
    found += _rows(Kind.BACKWARD, backward, caller)
    found.sort(key=lambda event: (event.at_ns, event.kind))
    return _without_repetitions(found)


def _inside(rows: Segments, spans: Spans) -> Rows:
    """Returns which segments begin in one of these ranges, a mask."""
    return np.asarray(around(spans.start_ns, spans.end_ns, rows.start_ns) >= 0)


def _spans(kind: Kind, rows: Spans, caller: Int32) -> list[Event]:
    columns = (rows.start_ns, rows.end_ns, rows.stack, caller[rows.stack])
    return [Event(kind, *values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _rows(kind: Kind, rows: Segments, caller: Int32 | None = None) -> list[Event]:
    names = ("start_ns", "end_ns", "anchor", "first", "is_trained", "first_signature", "last_signature")
    of_rows = {name: getattr(rows, name) for name in names}
    if caller is not None:
        of_rows["first"] = caller[rows.first]
    columns = (column.tolist() for column in of_rows.values())
    return [Event(kind, *values) for values in zip(*columns, strict=True)]


def _calls(rows: Segments, *, has_calls: bool) -> list[Event]:
    """Calls of outermost modules; if the program has no modules, its forward operators."""
    forward = (rows.phase == StepPhase.FORWARD) & (rows.first >= 0)
    in_module = forward & (rows.anchor > 0)
    if not bool(in_module.any()):
        return _rows(Kind.CALL, rows.take(forward))
    at = np.flatnonzero(in_module)
    if has_calls:
        return _known_calls(rows.take(at))
    rows, follows = rows.take(at), np.diff(at, prepend=-2) == 1
    events, last = _rows(Kind.CALL, rows), rows.last.tolist()
    ends = set(rows.last[~np.append(follows[1:], False)].tolist())  # where calls are known to end
    found = events[:1]
    for before, event, goes_on in zip(last, events[1:], follows[1:].tolist(), strict=False):
        same = goes_on and event.site == found[-1].site
        if same and not (event.stack == found[-1].stack and before in ends):
            found[-1] = _together(found[-1], event)
        else:
            found.append(event)
    return found


def _known_calls(rows: Segments) -> list[Event]:
    """The calls of modules whose numbers are known: each may have several segments."""
    found: list[Event] = []
    before = -1
    for call, event in zip(rows.call.tolist(), _rows(Kind.CALL, rows), strict=True):
        if found and call == before and event.site == found[-1].site:
            found[-1] = _together(found[-1], event)
        else:
            found.append(event)
        before = call
    return found


def _together(left: Event, right: Event) -> Event:
    """Merges two parts of one event."""
    is_trained = left.is_trained or right.is_trained
    return left._replace(end_ns=right.end_ns, last_signature=right.last_signature, is_trained=is_trained)


def _without_repetitions(found: list[Event]) -> list[Event]:
    """Merge consecutive events of backward, and those of forward operators outside of modules."""
    kept = found[:1]
    for before, event in pairwise(found):
        same = (event.kind, event.site) == (before.kind, before.site)
        if same and (event.kind is Kind.BACKWARD or (event.kind is Kind.CALL and event.site == 0)):
            kept[-1] = _together(kept[-1], event)
        else:
            kept.append(event)
    return kept
