"""Rows by thread, compared with a loop over them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from perfprobe.tables.threads import each_thread, thread_order


@pytest.mark.parametrize("rows", [0, 1, 2, 50])
@pytest.mark.parametrize("threads", [1, 2, 9])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_every_row_is_yielded_once_and_in_order(rows: int, threads: int, is_sorted: bool) -> None:
    draw = random.Random(rows * threads)
    numbers = [draw.randrange(-1, threads - 1) for _ in range(rows)]
    thread = np.array(sorted(numbers) if is_sorted else numbers, np.int32)
    found = [(key, own.tolist()) for key, own in each_thread(thread)]
    keys = sorted(set(thread.tolist()))
    assert found == [(key, [row for row in range(rows) if thread[row] == key]) for key in keys]
    order = thread_order(thread)
    in_order = list(range(rows)) if order is None else order.tolist()
    assert in_order == [row for _, own in found for row in own]
    assert not (is_sorted and order is not None)
