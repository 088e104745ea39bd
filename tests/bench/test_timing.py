"""Rounds must end, with a clock that advances only by the calls."""

import random

from perfprobe.bench.clocks import Block
from perfprobe.bench.deadline import Deadline
from perfprobe.bench.subjects import Arguments, Rounds, Subject, Timing


class Machine:
    """A clock, and calls that take the number of seconds they are given."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.called: list[str] = []

    def begin(self) -> None:
        self._began_s = self.now_s

    def end(self, calls: int) -> Block:
        ns = (self.now_s - self._began_s) / calls * 1e9
        return Block(ns, ns, 0.0, 0.0, 1.0)

    def subject(self, name: str, call_s: float, refuses: bool = False) -> Subject:
        def call() -> None:
            if refuses:
                raise RuntimeError("it does not go\nmore of this")
            self.now_s += call_s
            self.called.append(name)

        return Subject(name, call, [Arguments(())], 1)

    def timing(self, limit_s: float | None, reported: list[dict[str, int]] | None = None) -> Timing:
        def tell(found: Rounds) -> None:
            if reported is not None:
                reported.append({name: len(of) for name, of in found.blocks.items()})

        deadline = Deadline(limit_s, lambda: self.now_s)
        # No CPU time passes here, so the noise decides: nine blocks if there is none.
        return Timing(self, 1.0, random.Random(0), lambda _: None, deadline, tell)


def test_a_long_call_is_called_once_before_timing() -> None:
    machine = Machine()
    subject = machine.subject("long", 5.0)
    block = subject.calibrate(machine)
    assert (block.wall_ns, machine.called) == (5e9, ["long"] * 2)
    subject.block(machine)
    assert machine.called == ["long"] * 3


def test_without_a_time_limit_everything_is_timed() -> None:
    machine = Machine()
    found = machine.timing(None).rounds([machine.subject("call", 1.0)], [machine.subject("change", 90.0)])
    assert {name: len(of) for name, of in found.blocks.items()} == {"call": 9, "change": 9}
    assert (found.refused, found.untimed) == ({}, [])


def test_results_come_in_the_order_call_limits_changes() -> None:
    machine, reported = Machine(), list[dict[str, int]]()
    subjects = [machine.subject("call", 1.0), machine.subject("limit", 1.0)]
    machine.timing(None, reported).rounds(subjects, [machine.subject("change", 1.0)])
    assert reported[:3] == [{"call": 1}, {"call": 1, "limit": 1}, {"call": 2, "limit": 2, "change": 2}]


def test_a_change_without_time_left_is_not_started() -> None:
    machine = Machine()
    found = machine.timing(15.0).rounds(
        [machine.subject("call", 1.0), machine.subject("limit", 1.0)],
        [machine.subject("first", 1.0), machine.subject("second", 1.0)],
    )
    assert {name: len(of) for name, of in found.blocks.items()} == {"call": 3, "limit": 3, "first": 3}
    assert found.untimed == ["second"]
    assert "second" not in machine.called


def test_an_unfinished_round_is_dropped_at_the_limit() -> None:
    machine = Machine()
    found = machine.timing(11.0).rounds([machine.subject(name, 1.0) for name in ("call", "limit")])
    assert {name: len(of) for name, of in found.blocks.items()} == {"call": 3, "limit": 3}
    assert machine.now_s == 11.0  # four seconds of calibration, three rounds and a half


def test_if_the_first_call_exceeds_the_time_only_it_and_its_limits_stay() -> None:
    machine = Machine()
    found = machine.timing(1.0).rounds(
        [machine.subject("call", 100.0), machine.subject("limit", 1.0)], [machine.subject("change", 1.0)]
    )
    times_ns = {name: [block.wall_ns for block in of] for name, of in found.blocks.items()}
    assert times_ns == {"call": [1e11], "limit": [1e9]}
    assert found.untimed == ["change"]
    assert machine.called.count("call") == 2


def test_changes_refused_by_torch_are_left_out_with_a_reason() -> None:
    machine = Machine()
    found = machine.timing(None).rounds(
        [machine.subject("call", 1.0)], [machine.subject("refused", 1.0, refuses=True)]
    )
    assert found.refused == {"refused": "it does not go"}
    assert list(found.blocks) == ["call"]
