import random

import numpy as np

from perfprobe.tables.stacks import nearest


def slow_nearest(parent: list[int], marked: list[bool]) -> list[int]:
    found = []
    for row in range(len(parent)):
        at = row
        while at >= 0 and not marked[at]:
            at = parent[at]
        found.append(at)
    return found


def test_nearest_equals_a_walk_up_the_stack() -> None:
    rng = random.Random(1)
    for rows in (1, 2, 50, 300):
        parent = [rng.randrange(-1, row) if row else -1 for row in range(rows)]
        marked = [rng.random() < 0.1 for _ in range(rows)]
        found = nearest(np.array(parent, np.int32), np.array(marked))
        assert found.dtype == np.int32
        assert found.tolist() == slow_nearest(parent, marked)


def test_nearest_for_a_long_chain_and_an_empty_table() -> None:
    parent = np.arange(-1, 4999, dtype=np.int32)
    marked = np.zeros(5000, np.bool_)
    marked[3] = True
    assert nearest(parent, marked)[4999] == 3
    assert nearest(parent, marked)[2] == -1
    assert len(nearest(np.empty(0, np.int32), np.empty(0, np.bool_))) == 0
