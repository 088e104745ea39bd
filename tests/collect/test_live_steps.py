"""Steps found live, from hand-made moments of a loop; times are in no unit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from perfprobe import _core
from perfprobe.tables.steps import StepSource

NEXT, NEXT_END, UPDATE, UPDATE_END, PROFILER, PROFILER_END, MARK, BLOCK, BLOCK_END = range(9)
TRAIN, OTHER, OPTIMIZER, SECOND = 1, 2, 98, 99  # lines of the program
NO_BATCH, UNREADABLE = -2, -1
HERE, ELSEWHERE = 7, 8  # threads

Moment = tuple[int, int, int, int, bool, int]


class Found(NamedTuple):
    number: int
    source: int
    is_evaluation: bool
    start_ns: int
    end_ns: int
    reader_ns: int
    batches: int
    samples: int


def batch(
    at: int, line: int = TRAIN, samples: int = 8, took: int = 2, *, trains: bool = True, thread: int = HERE
) -> list[Moment]:
    return [(NEXT, at, line, -1, trains, thread), (NEXT_END, at + took, line, samples, trains, thread)]


def update(end: int, line: int = OPTIMIZER, thread: int = HERE) -> list[Moment]:
    return [(UPDATE, end - 1, 0, -1, True, thread), (UPDATE_END, end, line, -1, True, thread)]


def one(event: int, at: int) -> list[Moment]:
    return [(event, at, 0, -1, False, HERE)]


def found(*moments: Iterable[Moment]) -> list[Found]:
    return [Found(*row) for row in _core.live_steps([moment for part in moments for moment in part])]


def steps(rows: list[Found]) -> list[tuple[int, int]]:
    return [(row.start_ns, row.end_ns) for row in rows if not row.is_evaluation]


def test_a_step_reaches_from_one_batch_to_the_next_and_the_last_one_to_its_optimizer() -> None:
    rows = found(batch(0), update(8), batch(10), update(17), batch(20, samples=3), update(29))
    assert steps(rows) == [(0, 10), (10, 20), (20, 29)]
    assert [row.reader_ns for row in rows] == [2, 2, 2]
    assert [row.samples for row in rows] == [8, 8, 3]
    assert {row.source for row in rows} == {StepSource.OPTIMIZER}


def test_that_the_loader_has_no_more_is_no_evaluation() -> None:
    rows = found(batch(0), update(8), batch(10, samples=NO_BATCH))
    assert [(row.start_ns, row.end_ns, row.is_evaluation) for row in rows] == [(0, 10, False)]


def test_micro_batches_are_one_step_from_the_first_one_on() -> None:
    rows = found(*(batch(at) + batch(at + 4) + update(at + 9) for at in (0, 10, 20)))
    assert steps(rows) == [(0, 10), (10, 20), (20, 29)]
    assert [(row.batches, row.samples, row.reader_ns) for row in rows] == [(2, 16, 4)] * 3


def test_batches_of_another_line_without_an_optimizer_are_evaluation() -> None:
    rows = found(
        *(batch(at) + update(at + 9) for at in (0, 10)),
        batch(20, samples=NO_BATCH),  # the epoch ends
        *(batch(at, OTHER) for at in (23, 26, 29)),
        *(batch(at) + update(at + 9) for at in (40, 50)),
    )
    assert steps(rows) == [(0, 10), (10, 20), (40, 50), (50, 59)]
    assert [(row.start_ns, row.end_ns) for row in rows if row.is_evaluation] == [(20, 40)]
    assert [row.number for row in rows] == [0, 1, -1, 2, 3]


def test_evaluation_before_and_after_the_training_is_none_of_its_steps() -> None:
    rows = found(
        batch(0, OTHER), batch(5, OTHER), batch(10), update(19), batch(20), update(29), batch(30, OTHER)
    )
    assert steps(rows) == [(10, 20), (20, 30)]
    assert [(row.start_ns, row.end_ns) for row in rows if row.is_evaluation] == [(0, 10), (30, 32)]


def test_two_loaders_that_a_step_uses_are_both_part_of_it() -> None:
    rows = found(*(batch(at) + batch(at + 3, OTHER) + update(at + 9) for at in (0, 10, 20)))
    assert steps(rows) == [(0, 10), (10, 20), (20, 29)]
    assert [row.batches for row in rows] == [2, 2, 2]


def test_without_a_loader_a_step_ends_with_its_optimizer_and_the_first_has_no_start() -> None:
    rows = found(*(update(at) for at in (10, 20, 30)))
    assert [(row.number, row.start_ns, row.end_ns) for row in rows] == [(1, 10, 20), (2, 20, 30)]
    assert [row.samples for row in rows] == [-1, -1]


def test_one_batch_that_all_steps_use() -> None:
    rows = found(batch(0), *(update(at) for at in (10, 20, 30)))
    assert steps(rows) == [(0, 10), (10, 20), (20, 30)]


def test_optimizers_that_take_turns_are_one_step_with_a_loader_and_later_without() -> None:
    with_loader = found(*(batch(at) + update(at + 5) + update(at + 9, SECOND) for at in (0, 10)))
    assert steps(with_loader) == [(0, 10), (10, 19)]
    without = found(*(update(at) + update(at + 5, SECOND) for at in (10, 20, 30)))
    assert steps(without) == [(10, 15), (15, 25), (25, 35)]


def test_where_nothing_is_trained_a_step_is_a_batch() -> None:
    moments = [batch(at, trains=False) for at in (0, 10, 20)]
    rows = found(*moments, batch(30, samples=NO_BATCH, trains=False))
    assert steps(rows) == [(0, 10), (10, 20), (20, 30)]
    assert {row.source for row in rows} == {StepSource.LOADER}


def test_the_program_says_its_steps() -> None:
    marked = found(batch(0), update(4), one(MARK, 5), batch(6), update(8), one(MARK, 9), one(MARK, 12))
    own = [row for row in marked if row.source == StepSource.PROGRAM]
    assert [(row.number, row.start_ns, row.end_ns) for row in own] == [(0, 0, 5), (1, 5, 9), (2, 9, 12)]
    blocks = found(
        *(one(MARK, at) + one(BLOCK, at) + batch(at + 1) + one(BLOCK_END, at + 6) for at in (0, 10))
    )
    assert [row[:5] for row in blocks] == [(0, 0, False, 0, 6), (1, 0, False, 10, 16)]


def test_steps_of_the_profiler_come_before_optimizers() -> None:
    rows = found(*(one(PROFILER, at) + update(at + 4) + one(PROFILER_END, at + 9) for at in (0, 10)))
    assert [row[:5] for row in rows if row.source == StepSource.PROFILER] == [
        (0, 1, False, 0, 9),
        (1, 1, False, 10, 19),
    ]


def test_the_loop_is_on_the_thread_with_the_optimizer() -> None:
    elsewhere = [*batch(0, thread=ELSEWHERE), *batch(4, thread=ELSEWHERE)]
    more = [*batch(20), *batch(21, thread=ELSEWHERE), *update(29), *batch(30), *update(39)]
    rows = found(elsewhere, batch(10), update(18), more)
    assert steps(rows) == [(18, 30), (30, 39)]  # it is known for the loop's thread from 18 on


def test_a_batch_whose_size_is_not_known_makes_that_of_its_step_unknown() -> None:
    rows = found(batch(0) + batch(3, samples=UNREADABLE) + update(9), batch(10), update(19))
    assert [(row.batches, row.samples) for row in rows] == [(2, -1), (1, 8)]
