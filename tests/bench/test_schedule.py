"""How fully each call is measured, with a clock that advances by what is measured."""

from __future__ import annotations

import pytest

from perfprobe.bench.schedule import Countdown, Schedule, Turn
from perfprobe.tables.measurements import Wanted

CALLS = [Wanted(f"aten::op{place}", "f32[8]") for place in range(20)]
START_S = 5.0


class Run:
    """Measures the calls it is given. A call takes `full_s` with its changed calls and `bare_s` without."""

    def __init__(self, time_s: float | None, full_s: float, bare_s: float, count: int = 20) -> None:
        self.now_s = 0.0
        self.processes: dict[Wanted, int] = {}
        self.tried: set[Wanted] = set()
        self.turns: list[tuple[int, Turn | None]] = []
        calls = CALLS[:count]
        schedule = Schedule(
            calls, processes=3, seconds=1.0, changes=True, time_s=time_s, clock_s=lambda: self.now_s
        )
        for number in range(3):
            chosen = schedule.chosen(calls, number)
            if not chosen:
                break
            self.now_s += START_S
            schedule.started(START_S)
            for place, call in enumerate(chosen):
                turn = schedule.turn(call, number, len(chosen) - place - 1)
                self.turns.append((number, turn))
                if turn is not None:
                    took_s = min(full_s if turn.with_changes else bare_s, turn.limit_s or 1e9)
                    self.now_s += took_s
                    schedule.took(call, took_s, turn.with_changes)
                    self.processes[call] = number + 1
                    self.tried |= {call} if turn.with_changes else set()


def test_without_a_limit_each_gets_everything() -> None:
    run = Run(None, 10.0, 4.0)
    assert list(run.processes.values()) == [3] * 20
    assert run.tried == set(CALLS)
    assert {turn for _, turn in run.turns} == {Turn(True)}


def test_with_enough_time_nothing_is_left_out() -> None:
    run = Run(900.0, 10.0, 4.0)
    assert (list(run.processes.values()), run.tried) == ([3] * 20, set(CALLS))


@pytest.mark.parametrize(("full_s", "bare_s"), [(3.0, 1.5), (10.0, 4.0), (20.0, 5.0), (2.0, 2.0)])
def test_all_calls_are_measured_once_before_changed_calls(full_s: float, bare_s: float) -> None:
    run = Run(180.0, full_s, bare_s)
    assert run.now_s <= 180.0
    assert len(run.processes) == 20
    processes = [run.processes[call] for call in CALLS]
    assert processes == sorted(processes, reverse=True)
    assert processes[0] == 3
    tried = [call in run.tried for call in CALLS]
    assert tried == sorted(tried, reverse=True)
    assert tried[0]


def test_with_too_little_time_only_the_hottest_are_measured() -> None:
    run = Run(60.0, 30.0, 20.0)
    assert 0 < len(run.processes) < 20
    assert list(run.processes) == CALLS[: len(run.processes)]
    assert None in [turn for _, turn in run.turns]
    assert run.now_s <= 60.0


def test_calls_that_do_not_fit_are_repeated_without_changed_calls() -> None:
    run = Run(90.0, 45.0, 20.0, count=1)
    assert [turn and turn.with_changes for _, turn in run.turns] == [True, False]


def test_one_call_does_not_use_the_time_of_others() -> None:
    run = Run(180.0, 1e6, 3.0)
    assert [turn.limit_s for _, turn in run.turns[:1] if turn] == [175.0 / 4]
    assert len(run.processes) == 20


def test_a_single_call_may_use_all_the_time() -> None:
    run = Run(60.0, 1e6, 1e6, count=1)
    assert run.turns == [(0, Turn(True, 55.0, is_only=True))]


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_time_left_does_not_jump() -> None:
    clock = Clock()
    countdown = Countdown(clock)
    assert countdown.left_s(None, 180.0) == 180.0
    shown = 180.0
    for estimate_s in (900.0, 2.0, 400.0, 30.0, 300.0, 1.0, 1.0, 1.0):
        clock.now_s += 2.0
        now = countdown.left_s(estimate_s, 180.0 - clock.now_s)
        assert now is not None
        assert shown - 8.0 <= now <= shown + 2.0
        assert now <= 180.0 - clock.now_s
        shown = now


def test_the_time_left_follows_the_remaining_calls() -> None:
    clock = Clock()
    countdown = Countdown(clock)
    assert countdown.left_s(None, float("inf")) is None
    assert countdown.left_s(100.0, float("inf")) == 100.0
    for _ in range(40):
        clock.now_s += 10.0
        now = countdown.left_s(500.0, float("inf"))
    assert now == pytest.approx(500.0)
