import random
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pytest

from perfprobe.merge.nest import Nesting, parents
from tests.build import Op, op

Row: TypeAlias = tuple[int, int, int, int, int]  # thread, depth, start, end, self time


def random_tree(rng: random.Random, start_ns: int, depth: int) -> Op:
    """An operator with random ones inside. Times may be equal, and durations may be 0."""
    at, inside = start_ns + rng.randrange(3), []
    for _ in range(rng.randrange(4) if depth < 6 else 0):
        inside.append(random_tree(rng, at, depth + 1))
        at = inside[-1].end_ns + rng.randrange(3)
    return op("x", start_ns, at + rng.randrange(3), *inside)


def rows_of(operators: list[Op], thread: int, depth: int = 0) -> Iterator[Row]:
    """In the order of ends, by plain recursion."""
    for item in operators:
        yield from rows_of(list(item.inside), thread, depth + 1)
        duration_ns = item.end_ns - item.start_ns
        inner_ns = sum(child.end_ns - child.start_ns for child in item.inside)
        yield thread, depth, item.start_ns, item.end_ns, duration_ns - inner_ns


def random_rows(rng: random.Random, thread: int) -> list[Row]:
    at, operators = 0, []
    for _ in range(20):
        operators.append(random_tree(rng, at, 0))
        at = operators[-1].end_ns + 1
    return list(rows_of(operators, thread))


def self_times(nesting: Nesting, rows: list[Row]) -> list[tuple[Row, int]]:
    """One batch, grouped by thread as batches are."""
    rows = sorted(rows, key=lambda row: row[0])
    thread, depth, start_ns, end_ns, _ = (np.array(column) for column in zip(*rows, strict=True))
    ids = (thread.astype(np.int32), depth.astype(np.int32))
    return list(zip(rows, nesting.self_times(*ids, start_ns, end_ns - start_ns).tolist(), strict=True))


def interleaved(rng: random.Random, threads: list[list[Row]]) -> list[Row]:
    """Interleaved like the blocks of a file."""
    rows: list[Row] = []
    left = [list(part) for part in threads]
    while any(left):
        chosen = rng.choice([part for part in left if part])
        rows += chosen[:5]
        del chosen[:5]
    return rows


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 50, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_self_times_equal_those_by_recursion(batch: int, threads: int) -> None:
    rng = random.Random(batch * 10 + threads)
    rows = interleaved(rng, [random_rows(rng, thread) for thread in range(threads)])
    nesting = Nesting()
    for at in range(0, len(rows), batch):
        for row, self_ns in self_times(nesting, rows[at : at + batch]):
            assert self_ns == row[4], row
    assert nesting.unfinished == 0
    assert nesting.orphans == 0


def slow_parents(thread: list[int], depth: list[int]) -> list[int]:
    """By the definition: the next later row of the thread that is one level up."""
    found = []
    for row, level in enumerate(depth):
        later = range(row + 1, len(depth))
        found.append(next((r for r in later if thread[r] == thread[row] and depth[r] == level - 1), -1))
    return found


def test_parents_equal_the_definition() -> None:
    rng = random.Random(5)
    parts = [random_rows(rng, thread) for thread in (0, 3, 1)]
    parts[0].pop()  # the last outermost operator has not ended
    rows = [row for part in parts for row in part]
    mixed = interleaved(rng, parts)
    for table in (rows, mixed):
        thread = np.array([row[0] for row in table], np.int32)
        depth = np.array([row[1] for row in table], np.int32)
        assert parents(thread, depth).tolist() == slow_parents(thread.tolist(), depth.tolist())


def test_an_empty_table_has_no_parents() -> None:
    assert parents(np.empty(0, np.int32), np.empty(0, np.int32)).tolist() == []


def test_nesting_by_hand() -> None:
    # mm 0-100, containing a 10-40 (containing b 20-30) and c 50-60
    nesting = Nesting()
    rows = [(0, 2, 20, 30, 10), (0, 1, 10, 40, 20), (0, 1, 50, 60, 10), (0, 0, 0, 100, 60)]
    assert [self_ns for _, self_ns in self_times(nesting, rows)] == [10, 20, 10, 60]


def test_operators_inside_an_unended_one_are_counted() -> None:
    nesting = Nesting()
    self_times(nesting, [(0, 2, 20, 30, 10), (0, 1, 10, 40, 20)])
    self_times(nesting, [(0, 1, 50, 60, 10), (0, 3, 61, 62, 1), (1, 0, 0, 9, 9)])
    assert nesting.unfinished == 3
    assert nesting.orphans == 0


def test_an_operator_is_not_given_to_a_later_one_that_does_not_contain_it() -> None:
    # The parent of 10-20 is missing; the next operator one level up began after it.
    rows = [(0, 1, 10, 20, 10), (0, 1, 40, 50, 10), (0, 0, 30, 60, 20)]
    together = Nesting()
    assert [self_ns for _, self_ns in self_times(together, rows)] == [10, 10, 20]
    assert together.orphans == 1
    apart = Nesting()
    self_times(apart, rows[:1])
    assert self_times(apart, rows[2:]) == [(rows[2], 30)]
    assert apart.orphans == 1


def test_damaged_depths_do_no_harm() -> None:
    rng = random.Random(9)
    nesting = Nesting()
    for _ in range(50):
        depths = [rng.choice([-(2**31), -1, 0, 1, 40_000, 2**31 - 1]) for _ in range(20)]
        self_times(nesting, [(rng.randrange(3), depth, rng.randrange(9), 9, 0) for depth in depths])
