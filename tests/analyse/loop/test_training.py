"""Evaluations between training steps, by hand-made events."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.analyse.loop.events import Event, Kind
from perfprobe.analyse.loop.loop_function import StackTree
from perfprobe.analyse.loop.training import Span, training_function, training_steps
from perfprobe.merge import link
from tests.build import Program
from tests.report.test_text import META

HELD, TRAIN, CALL, LOSS, UPDATE = range(5)


def events(steps: int, held_batches: int, *, own_loader: bool = True) -> list[Event]:
    """Each second step is after an evaluation, which ends with a request for a batch that is not there.

    own_loader: whether that is not the loader of the steps.
    """
    found: list[Event] = []

    def add(kind: Kind, site: int, *, is_trained: bool = False) -> None:
        found.append(Event(kind, len(found) * 10, len(found) * 10 + 9, site, -1, is_trained))

    for step in range(steps):
        for _ in range(held_batches * (step % 2)):
            add(Kind.NEXT, HELD if own_loader else TRAIN)
            add(Kind.CALL, CALL)
        if held_batches * (step % 2):
            add(Kind.NEXT, HELD if own_loader else TRAIN)
        add(Kind.NEXT, TRAIN)
        add(Kind.CALL, CALL, is_trained=True)
        add(Kind.BACKWARD, LOSS)
        add(Kind.OPTIMIZER, UPDATE)
    return found


def spans(found: list[Event], folder: Path) -> list[Span]:
    program = Program(**META)
    program.thread(1)
    tree = StackTree(link(program.recording(folder)))
    return training_steps(training_function(tree, found), found, 0)


def kinds(span: Span) -> list[str]:
    return [event.kind.name for event in span.events]


@pytest.mark.parametrize("own_loader", [True, False])
def test_the_last_request_of_an_evaluation_is_not_the_step_s(tmp_path: Path, own_loader: bool) -> None:
    found = spans(events(6, 2, own_loader=own_loader), tmp_path)
    held = [kinds(span) for span in found if span.is_evaluation]
    steps = [kinds(span) for span in found if not span.is_evaluation]
    assert steps == [["NEXT", "CALL", "BACKWARD", "OPTIMIZER"]] * 6
    assert held == [["NEXT", "CALL", "NEXT", "CALL", "NEXT"]] * 3


def test_two_loaders_of_a_step_are_both_its_own(tmp_path: Path) -> None:
    found = []
    for event in events(4, 0):
        found += [event._replace(site=HELD), event] if event.kind is Kind.NEXT else [event]
    steps = spans(found, tmp_path)
    assert [kinds(step)[:2] for step in steps] == [["NEXT", "NEXT"]] * 4
