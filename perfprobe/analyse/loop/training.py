"""Finds training steps, and evaluations between them.

An iteration may have several optimizers, and ends with the last of them. Two steps of optimizers belong to
one iteration if no backward runs between them, or if they come from different lines and neither of these
lines, nor the loader's, has been reached again. A step ends with its iteration, or when the loader is asked
for the next batch.

Calls of modules are evaluation if no backward refers to them and they are outside of the loop or after its
optimizer; also if an iteration has more calls than most others have. Before the first step they are start-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.analyse.loop.loop_function import NOWHERE, LoopFunction, StackTree


class Span(NamedTuple):
    """A step, or an evaluation between steps. is_cut: whether the recording ended during the step."""

    start_ns: int
    end_ns: int
    is_evaluation: bool
    events: tuple[Event, ...]
    is_cut: bool = False
    is_baseline: bool = False


class Iteration(NamedTuple):
    """The events of an iteration in order (`own`), and those of evaluations before it (`ahead`)."""

    ahead: list[Event]
    own: list[Event]


def with_updates(events: Sequence[Event]) -> list[Event]:
    """Add an update of parameters after each backward, for a program without optimizers."""
    found: list[Event] = []
    for at, event in enumerate(events):
        found.append(event)
        is_last = at + 1 == len(events) or events[at + 1].kind is not Kind.BACKWARD
        if event.kind is Kind.BACKWARD and is_last:
            found.append(event._replace(kind=Kind.OPTIMIZER, start_ns=event.end_ns))
    return found


def training_function(tree: StackTree, events: Sequence[Event]) -> LoopFunction:
    """The function that contains the training loop: all backward and optimizers are called from it."""
    stacks = [
        event.stack for event in events if event.kind in (Kind.BACKWARD, Kind.OPTIMIZER) or event.is_trained
    ]
    return LoopFunction(tree, stacks)


def training_steps(function: LoopFunction, events: Sequence[Event], first_ns: int) -> list[Span]:
    """Steps and evaluations in order. The last step may have been cut off.

    Args:
        first_ns: when the first step begins, if neither a loader nor a module shows it.
    """
    groups, rest = _groups(events)
    found = _separated(function, _iterations(groups))
    found[:1] = [_without_trials(_without_former(each, found[1:])) for each in found[:1]]
    spans: list[Span] = []
    for at, iteration in enumerate(found):
        last_ns = spans[-1].end_ns if spans else 0
        first = iteration.own[0]
        ahead_ns = max((event.end_ns for event in iteration.ahead), default=last_ns)
        start_ns = last_ns
        if not spans:
            is_begun = first.kind in (Kind.NEXT, Kind.CALL)
            start_ns = max(first.start_ns if is_begun else min(first_ns, first.start_ns), ahead_ns)
        elif iteration.ahead:
            begin_ns = max(last_ns, iteration.ahead[0].start_ns)
            start_ns = max(first.start_ns if first.kind is Kind.NEXT else ahead_ns, begin_ns)
            spans.append(Span(begin_ns, start_ns, True, tuple(iteration.ahead)))
        following = found[at + 1] if at + 1 < len(found) else Iteration([], rest)
        end_ns = max(_end_ns(iteration, following), start_ns)
        spans.append(Span(start_ns, end_ns, False, tuple(iteration.own)))
    trained = {event.site for span in spans for event in span.events if event.is_trained}
    return spans + _after_last(rest, spans[-1].end_ns, trained) if spans else []


def _after_last(rest: list[Event], last_ns: int, trained: set[int]) -> list[Span]:
    """An evaluation after the last step, and a step that had not ended, if there are any.

    trained: the sites of all calls in steps that backward refers to.
    """
    chunks = _chunks(rest)
    is_cut = any(event.kind is Kind.BACKWARD for event in rest) or _is_begun(rest, trained)
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


def _is_begun(rest: list[Event], trained: set[int]) -> bool:
    """Whether these are the beginning of a step: one call each of what steps call, before any backward."""
    sites = [event.site for event in rest if event.kind is Kind.CALL]
    return bool(sites) and len(set(sites)) == len(sites) and trained.issuperset(sites)


def _without_former(iteration: Iteration, later: Sequence[Iteration]) -> Iteration:
    """The first iteration without calls before the loop: they train nothing, and are not repeated."""
    repeated = {event.site for each in later for event in each.own}
    former = list(
        takewhile(
            lambda event: event.kind is Kind.CALL and not event.is_trained and event.site not in repeated,
            iteration.own if repeated else (),
        )
    )
    return Iteration(iteration.ahead + former, iteration.own[len(former) :])


def _without_trials(iteration: Iteration) -> Iteration:
    """The first iteration without what ran before the loop, such as a trial batch or call of the model."""
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
    """Groups of events, each up to the last optimizer before the next backward; and the events after all."""
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
    """Merge groups whose optimizers alternate into one iteration."""
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


def _separated(function: LoopFunction, found: list[list[Event]]) -> list[Iteration]:
    """Separate evaluations from each iteration. Chunks are made twice: all at once they take much memory."""
    divided = [_outside(function, events) for events in found]
    sizes = sorted(len(_chunks(own)) for _, own in divided)
    usual = sizes[(len(sizes) - 1) // 2] if sizes else 0
    whole = []
    for ahead, own in divided:
        chunks = _chunks(own)
        more = takewhile(_may_be_evaluation, chunks[: len(chunks) - max(usual, 1)])
        moved = [event for chunk in more for event in chunk]
        whole.append(_with_last_request(Iteration(ahead + moved, own[len(moved) :])))
    return whole


def _with_last_request(found: Iteration) -> Iteration:
    """The iteration with the last request of an evaluation to its loader, which had no more batches.

    Workers end then, and the program waits for them.
    """
    own, loaders = found.own, {event.site for event in found.ahead if event.kind is Kind.NEXT}
    is_last = [event.kind for event in own[:2]] == [Kind.NEXT, Kind.NEXT] and own[0].site in loaders
    return Iteration(found.ahead + own[:1], own[1:]) if is_last else found


def _may_be_evaluation(chunk: list[Event]) -> bool:
    """Whether calls may be evaluation: they have their own batch, or no backward refers to them."""
    return chunk[0].kind is Kind.NEXT or not any(event.is_trained for event in chunk)


def _outside(function: LoopFunction, events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Divide events after the last call before backward that is outside of the loop or after its optimizer.

    Such calls, and events before them, are evaluation.
    """
    optimizer = max((function.line(e.stack) for e in events if e.kind is Kind.OPTIMIZER), default=NOWHERE)
    last = -1
    for at, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            break
        line = function.line(event.stack)
        is_elsewhere = line == NOWHERE or line > optimizer != NOWHERE
        if event.kind is Kind.CALL and not event.is_trained and event.stack >= 0 and is_elsewhere:
            last = at
    return (events[: last + 1], events[last + 1 :]) if last >= 0 else ([], events)


def _chunks(events: list[Event]) -> list[list[Event]]:
    """The events before the first backward, divided before each repeated call of the loader or a module."""
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


def _end_ns(iteration: Iteration, following: Iteration) -> int:
    """Returns the end of a step: that of its optimizer, the next request to the loader or evaluation."""
    end_ns = max(event.end_ns for event in iteration.own if event.kind is Kind.OPTIMIZER)
    if following.ahead:
        return max(end_ns, following.ahead[0].start_ns)
    if following.own and following.own[0].kind is Kind.NEXT:
        return max(end_ns, following.own[0].start_ns)
    return end_ns
