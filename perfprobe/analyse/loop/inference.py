"""Steps of a program without training: one for each batch, or for each iteration of the loop.

With a loader, a step lasts from one `next` to the following one. Without a loader, a step is one call of the
outermost module, or one call of each of several modules that alternate. Code at later lines of the loop reads
the results and belongs to the step. Code at earlier lines makes the next input.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.analyse.loop.loop_function import NOWHERE, LoopFunction, StackTree
from perfprobe.analyse.loop.timeline import Segments
from perfprobe.analyse.loop.training import Span


def inference_function(tree: StackTree, events: Sequence[Event]) -> LoopFunction:
    """The function that holds the loop of these events."""
    return LoopFunction(tree, [event.stack for event in events])


def inference_steps(function: LoopFunction, events: Sequence[Event], segments: Segments) -> list[Span]:
    """The steps in their order. segments: those of the thread."""
    rounds = _rounds(events)
    spans: list[Span] = []
    for at, own in enumerate(rounds):
        following = rounds[at + 1] if at + 1 < len(rounds) else []
        last = next(event for event in reversed(own) if event.kind is Kind.CALL)
        if following and following[0].kind is Kind.NEXT:
            end_ns = following[0].start_ns
        elif own[-1].kind is Kind.NEXT:  # the loader had no more batches
            end_ns = own[-1].start_ns
        else:
            until_ns = following[0].start_ns if following else None
            end_ns = _read_ns(function, segments, last, until_ns)
        start_ns = spans[-1].end_ns if spans else own[0].start_ns
        spans.append(Span(start_ns, max(end_ns, start_ns), False, tuple(own)))
    return spans


def _rounds(events: Sequence[Event]) -> list[list[Event]]:
    """The events of each iteration of the loop. Each iteration has a call of a module."""
    found: list[list[Event]] = []
    sites: set[int] = set()
    for event in events:
        called = bool(found) and any(other.kind is Kind.CALL for other in found[-1])
        again = event.site in sites or event.kind is Kind.NEXT
        if not found or (called and again):
            found.append([])
            sites = set()
        if event.kind is Kind.NEXT and event.site in sites:
            found[-1] = []  # a batch that no module used
        found[-1].append(event)
        sites.add(event.site)
    if found and not any(event.kind is Kind.CALL for event in found[-1]):
        rest = found.pop()
        if found:
            found[-1] = [*found[-1], *rest[:1]]
    return found


def _read_ns(function: LoopFunction, segments: Segments, call: Event, until_ns: int | None) -> int:
    """Returns when the code at later lines of the loop ends that runs after a call, before `until_ns`."""
    line = function.line(call.stack)
    first = int(segments.start_ns.searchsorted(call.end_ns))
    end_ns = call.end_ns
    for at in range(first, len(segments)):
        own = function.line(int(segments.first[at]))
        if (until_ns is not None and int(segments.start_ns[at]) >= until_ns) or own in (NOWHERE,):
            break
        if own < line:
            break
        end_ns = int(segments.end_ns[at])
    return end_ns
