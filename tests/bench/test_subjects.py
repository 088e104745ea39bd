"""How often and in which order subjects are called, with a clock that only counts."""

import random

import pytest

from perfprobe.bench.clocks import Block
from perfprobe.bench.subjects import Arguments, Subject, Timing, rounds


class CountingClock:
    """Each call takes `call_ns`; the number of calls comes through `calls`."""

    def __init__(self, call_ns: float) -> None:
        self.call_ns = call_ns
        self.running = False

    def begin(self) -> None:
        self.running = True

    def end(self, calls: int) -> Block:
        self.running = False
        return Block(self.call_ns, self.call_ns, 0.0, 0.0, 1.0)


class Operand:
    """Counts its writes since it was restored, and whether it was restored while timed."""

    def __init__(self, clock: CountingClock) -> None:
        self.clock, self.most, self.written, self.timed = clock, 0, 0, 0

    def write(self) -> None:
        self.written += 1
        self.timed += self.clock.running
        self.most = max(self.most, self.written)

    def restore(self) -> None:
        assert not self.clock.running
        self.written = 0


@pytest.mark.parametrize(("operands", "call_ns"), [(1, 1e3), (1, 1e7), (3, 5e4), (64, 1e3)])
def test_written_operands_are_restored_before_the_third_call(operands: int, call_ns: float) -> None:
    clock = CountingClock(call_ns)
    made = [Operand(clock) for _ in range(operands)]
    subject = Subject("s", Operand.write, [Arguments((one,), {}, one.restore) for one in made], 1)
    subject.calibrate(clock)
    for _ in range(20):
        subject.block(clock)
        subject.run(1)
    assert max(one.most for one in made) <= 2
    assert sum(one.timed for one in made) >= 20


def test_calls_rotate_over_all_copies() -> None:
    clock = CountingClock(50_000.0)
    seen: list[int] = []
    subject = Subject("s", seen.append, [Arguments((index,)) for index in range(5)], 1)
    subject.calibrate(clock)
    assert subject.calls == 3
    del seen[:]
    for _ in range(4):
        subject.block(clock)
    first = seen[0]
    assert seen == [(first + index) % 5 for index in range(len(seen))]


def test_rounds_are_whole_shuffled_and_set_the_threads() -> None:
    clock = CountingClock(1e6)
    threads: list[int] = []
    order: list[str] = []
    subjects = [
        Subject(name, order.append, [Arguments((name,))], count)
        for name, count in (("a", 1), ("b", 2), ("c", 1))
    ]
    blocks = rounds(subjects, clock, 10.0, random.Random(0), threads.append)
    assert {name: len(found) for name, found in blocks.items()} == {"a": 9, "b": 9, "c": 9}
    assert set(threads) == {1, 2}
    assert threads.count(2) == 10  # each round, and during calibration
    last = order[-2 * 3 * 9 :: 2]  # a call before each block, and one inside
    assert len({tuple(last[place : place + 3]) for place in range(0, 27, 3)}) > 1
    assert all(set(last[place : place + 3]) == {"a", "b", "c"} for place in range(0, 27, 3))


def test_the_call_is_timed_among_its_limits_before_changed_calls() -> None:
    order: list[str] = []
    names = ("call", "memory", "exp", "other", "change 0", "change 1")
    subjects = [Subject(name, order.append, [Arguments((name,))], 1) for name in names]
    timing = Timing(CountingClock(1e6), 10.0, random.Random(0), lambda _: None)
    found = timing.rounds(subjects[:4], subjects[4:])
    assert {len(of) for of in found.blocks.values()} == {9}
    last = order[-2 * 6 * 8 :: 2]  # the first round tries changes that torch may refuse
    places = set()
    for place in range(0, len(last), 6):
        one = last[place : place + 6]
        assert set(one[:4]) == {"call", "memory", "exp", "other"}
        places.add(one.index("call"))
    assert places == {1, 2}


class UnsteadyClock(CountingClock):
    """The times of blocks of one subject differ by 15 %."""

    def __init__(self, order: list[str], unsteady: str) -> None:
        super().__init__(1e6)
        self._order, self._unsteady, self._drawn = order, unsteady, random.Random(0)

    def end(self, calls: int) -> Block:
        part = self._drawn.gauss(0, 0.15) if self._order[-1] == self._unsteady else 0.0
        return Block(1e6 * (1 + part), 1e6, 0.0, 0.0, 1.0)


def test_rounds_continue_until_the_ratio_to_the_limit_is_known() -> None:
    order: list[str] = []
    subjects = [
        Subject(name, order.append, [Arguments((name,))], 1) for name in ("call", "limit", "change 0")
    ]
    timing = Timing(UnsteadyClock(order, "limit"), 10.0, random.Random(0), lambda _: None)
    found = timing.rounds(subjects[:2], subjects[2:]).blocks
    assert len(found["change 0"]) == 9  # the call's own time was known
    assert len(found["call"]) == len(found["limit"]) > 18


def test_without_time_left_the_ratio_is_not_improved() -> None:
    order: list[str] = []
    subjects = [Subject(name, order.append, [Arguments((name,))], 1) for name in ("call", "limit")]
    timing = Timing(UnsteadyClock(order, "limit"), 0.0, random.Random(0), lambda _: None)
    found = timing.rounds(subjects).blocks
    assert len(found["call"]) == len(found["limit"]) <= 5
