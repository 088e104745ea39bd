"""Training steps: from batch to optimizer, without what does not belong to them.

An iteration ends with the last of the optimizers that alternate: those without backward between them, and
those that come from different lines before one of these lines, or that of the loader, comes again. A step
ends there, or where the loader is asked for the next batch. Calls of modules that no backward follows are
evaluation: those that no backward refers to, outside of the loop or behind its optimizer, and those of one
code that are more than in most iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.analyse.loop.place import NOWHERE, Place, StackTree


class Span(NamedTuple):
    """A step, or an evaluation between steps, before it has a row. events: what happened in it."""

    start_ns: int
    end_ns: int
    is_evaluation: bool
    events: tuple[Event, ...]
    is_cut: bool = False


class Iteration(NamedTuple):
    """The events of an iteration, in order; ahead: those of evaluations before it."""

    ahead: list[Event]
    own: list[Event]


def with_updates(events: Sequence[Event]) -> list[Event]:
    """The events of a program without optimizers, which updates parameters itself after backward."""
    found: list[Event] = []
    for at, event in enumerate(events):
        found.append(event)
        is_last = at + 1 == len(events) or events[at + 1].kind is not Kind.BACKWARD
        if event.kind is Kind.BACKWARD and is_last:
            found.append(event._replace(kind=Kind.OPTIMIZER, start_ns=event.end_ns))
    return found


def training_place(tree: StackTree, events: Sequence[Event]) -> Place:
    """The function that contains the loop of these events, in which optimizers step."""
    meant = [
        event.stack for event in events if event.kind in (Kind.BACKWARD, Kind.OPTIMIZER) or event.is_trained
    ]
    return Place(tree, meant)


def training_steps(place: Place, events: Sequence[Event], first_ns: int) -> list[Span]:
    """Steps and evaluations in order; the last step may have been cut off.

    first_ns: when the first one begins, if neither a loader nor a module shows it.
    """
    groups, rest = _groups(events)
    found = _apart(place, [Iteration([], group) for group in _iterations(groups)])
    found[:1] = [_without_first_look(each) for each in found[:1]]
    spans: list[Span] = []
    for at, iteration in enumerate(found):
        last_ns = spans[-1].end_ns if spans else 0
        first = iteration.own[0]
        start_ns = last_ns
        if not spans or iteration.ahead:
            ahead_ns = max((event.end_ns for event in iteration.ahead), default=last_ns)
            begin_ns = (
                first.start_ns if first.kind in (Kind.NEXT, Kind.CALL) else min(first_ns, first.start_ns)
            )
            start_ns = max(begin_ns if first.kind is Kind.NEXT or not spans else ahead_ns, last_ns)
        if iteration.ahead:
            begin_ns = max(last_ns, iteration.ahead[0].start_ns)
            spans.append(Span(begin_ns, max(start_ns, begin_ns), True, tuple(iteration.ahead)))
            start_ns = spans[-1].end_ns
        behind = found[at + 1] if at + 1 < len(found) else Iteration([], rest)
        end_ns = max(_end_ns(iteration, behind), start_ns)
        spans.append(Span(start_ns, end_ns, False, tuple(iteration.own)))
    return spans + _behind(rest, spans[-1].end_ns) if spans else []


def _behind(rest: list[Event], last_ns: int) -> list[Span]:
    """Evaluation after the last step, and a step that had not ended."""
    chunks = _chunks(rest)
    is_cut = any(event.kind is Kind.BACKWARD for event in rest)
    ahead = [event for chunk in (chunks[:-1] if is_cut else chunks) for event in chunk]
    while ahead and ahead[-1].kind is not Kind.CALL:
        ahead.pop()
    spans = []
    if ahead:
        last_ns = max(last_ns, ahead[0].start_ns)
        following = rest[len(ahead) :][:1]
        end_ns = following[0].start_ns if following and not is_cut else ahead[-1].end_ns
        spans.append(Span(last_ns, max(end_ns, ahead[-1].end_ns, last_ns), True, tuple(ahead)))
    if is_cut:
        last_ns = spans[-1].end_ns if spans else last_ns
        cut = tuple(rest[len(ahead) :])
        spans.append(Span(last_ns, max(last_ns, *(e.end_ns for e in cut)), False, cut, is_cut=True))
    return spans


def _without_first_look(iteration: Iteration) -> Iteration:
    """The first iteration without trials before the loop, such as a batch or a call of the model."""
    calls = [at for at, event in enumerate(iteration.own) if event.kind is not Kind.NEXT]
    sites = [event.site for event in iteration.own[: calls[0]]]
    kept = next((at for at, site in enumerate(sites) if site not in sites[at + 1 :]), len(sites))
    own = iteration.own[kept:]
    tried = 0  # calls of the model before the first batch
    if own[0].kind is Kind.CALL and not own[0].is_trained:
        before = list(takewhile(lambda event: event.kind is not Kind.BACKWARD, own))
        tried = next((at for at, event in enumerate(before) if event.kind is Kind.NEXT), 0)
    return Iteration(iteration.ahead + own[:tried], own[tried:])


def _groups(events: Sequence[Event]) -> tuple[list[list[Event]], list[Event]]:
    """Events up to the last of the optimizers without backward between them; and those after it."""
    groups: list[list[Event]] = []
    open_group: list[Event] = []
    for event in events:
        open_group.append(event)
        if event.kind is Kind.OPTIMIZER:
            if groups and all(other.kind is not Kind.BACKWARD for other in open_group):
                groups[-1] += open_group
            else:
                groups.append(open_group)
            open_group = []
    return groups, open_group


def _iterations(groups: list[list[Event]]) -> list[list[Event]]:
    """Merges groups of optimizers that alternate."""
    found: list[list[Event]] = []
    seen: set[int] = set()
    for group in groups:
        sites = {event.site for event in group if event.kind in (Kind.OPTIMIZER, Kind.NEXT)}
        if found and not sites & seen:
            found[-1] = found[-1] + group
            seen |= sites
        else:
            found.append(group)
            seen = sites
    return found


def _apart(place: Place, found: list[Iteration]) -> list[Iteration]:
    """The same, with evaluations taken out of each iteration."""
    parted = [_outside(place, iteration.own) for iteration in found]
    chunks = [_chunks(own) for _, own in parted]
    usual = sorted(len(each) for each in chunks)[(len(chunks) - 1) // 2] if chunks else 0
    whole = []
    for (ahead, own), each in zip(parted, chunks, strict=True):
        more = takewhile(_may_be_apart, each[: len(each) - max(usual, 1)])
        moved = [event for chunk in more for event in chunk]
        whole.append(Iteration(ahead + moved, own[len(moved) :]))
    return whole


def _may_be_apart(chunk: list[Event]) -> bool:
    """Whether calls may be evaluation: with a batch of their own, or calls that no backward refers to."""
    return chunk[0].kind is Kind.NEXT or not any(event.is_trained for event in chunk)


def _outside(place: Place, events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Events up to the last call that is not part of the loop's way to its optimizer; and the others."""
    optimizer = max((place.line(e.stack) for e in events if e.kind is Kind.OPTIMIZER), default=NOWHERE)
    last = -1
    for at, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            break
        line = place.line(event.stack)
        is_elsewhere = line == NOWHERE or line > optimizer != NOWHERE
        if event.kind is Kind.CALL and not event.is_trained and event.stack >= 0 and is_elsewhere:
            last = at
    return events[: last + 1], events[last + 1 :]


def _chunks(events: list[Event]) -> list[list[Event]]:
    """Events before the first backward, split where the loader or a module occurs again."""
    before = list(takewhile(lambda event: event.kind is not Kind.BACKWARD, events))
    if len(before) == len(events):
        return [before]
    found: list[list[Event]] = [[]]
    called: set[int] = set()
    for event in before:
        if event.kind is Kind.OPTIMIZER:
            return [before]
        again = event.kind is Kind.NEXT or event.site in called
        if called and again:
            found.append([])
            called = set()
        found[-1].append(event)
        if event.kind is Kind.CALL:
            called.add(event.site)
    return found


def _end_ns(iteration: Iteration, behind: Iteration) -> int:
    """When a step ends: with its optimizer, or where the loader is asked next, or evaluation begins."""
    end_ns = max(event.end_ns for event in iteration.own if event.kind is Kind.OPTIMIZER)
    if behind.ahead:
        return max(end_ns, behind.ahead[0].start_ns)
    if behind.own and behind.own[0].kind is Kind.NEXT:
        return max(end_ns, behind.own[0].start_ns)
    return end_ns
