"""Allocations and frees are paired by address and time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from perfprobe.merge import storages
from perfprobe.merge.tensor_memory import tensor_memory
from perfprobe.tables.columns import Table
from perfprobe.tables.events import Threads
from perfprobe.tables.memory import MemoryBlocks, MemoryEvent, MemoryRows, Storages
from perfprobe.tables.recording import Recording
from tests.merge.stored import storages_of

A, F, P = MemoryEvent.ALLOCATED, MemoryEvent.FREED, MemoryEvent.PARAMETER


def recording(*rows: tuple[int, int, int, int]) -> Recording:
    """Each row: time, event, storage, size."""
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    time_ns, event, storage, size_bytes = (np.array(column, np.int64) for column in columns)
    table = MemoryRows(
        time_ns=time_ns,
        thread=np.zeros(len(rows), np.int32),
        event=event.astype(np.int8),
        storage=storage,
        size_bytes=size_bytes,
        stack=np.full(len(rows), -1, np.int32),
    )
    none = np.zeros(1, np.int32)
    threads = Threads(np.zeros(1, np.int64), none, none)
    blocks = [table.take(slice(first, first + 7)) for first in range(0, len(table), 7)]
    found = MemoryBlocks.of(*blocks) if blocks else None
    tables: dict[type[Table], Table] = {Threads: threads}
    return Recording("", tables, {}, True, 0, None, 0, lambda _: iter(()), memory=found)


def spans(found: Storages) -> list[tuple[int, int, int]]:
    return list(zip(found.start_ns.tolist(), found.end_ns.tolist(), found.size_bytes.tolist(), strict=True))


def test_a_reused_address_is_two_storages() -> None:
    memory, losses = tensor_memory(recording((1, A, 7, 100), (2, F, 7, -1), (3, A, 7, 50), (4, A, 8, 10)))
    assert memory is not None
    assert spans(storages_of(memory)) == [(1, 2, 100), (3, -1, 50), (4, -1, 10)]
    assert losses == ()


def test_the_free_of_an_older_storage_is_left_out() -> None:
    memory, _ = tensor_memory(recording((1, F, 7, -1), (2, A, 7, 50)))
    assert memory is not None
    assert spans(storages_of(memory)) == [(2, -1, 50)]


def test_a_missing_free_ends_with_the_next_allocation_and_is_a_loss() -> None:
    memory, losses = tensor_memory(recording((1, A, 7, 100), (5, A, 7, 50)))
    assert memory is not None
    assert spans(storages_of(memory)) == [(1, 5, 100), (5, -1, 50)]
    assert storages_of(memory).freed_thread.tolist() == [-1, -1]
    assert [losses[0].count.tolist(), losses[0].source.tolist()] == [[1], ["memory"]]


def test_a_parameter_names_the_storage_that_is_alive_then() -> None:
    rows = ((1, A, 7, 100), (2, F, 7, -1), (3, A, 7, 50), (4, P, 7, 50), (5, P, 9, 30), (6, P, 9, 30))
    memory, _ = tensor_memory(recording(*rows))
    assert memory is not None
    assert storages_of(memory).named.tolist() == [0, P]
    assert memory.older_bytes == 30  # once, though it was found twice


def test_damaged_sizes_and_times_are_left_out() -> None:
    memory, _ = tensor_memory(recording((1, A, 7, 1 << 62), (-5, A, 8, 3), (2, A, 9, 3)))
    assert memory is not None
    assert spans(storages_of(memory)) == [(2, -1, 3)]


@pytest.mark.parametrize(
    "rows", [(), ((3, F, 7, -1),), ((3, P, 7, 40),)], ids=["none", "a free", "a parameter"]
)
def test_without_allocations_nothing_is_found(rows: tuple[tuple[int, int, int, int], ...]) -> None:
    memory, _ = tensor_memory(recording(*rows))
    assert memory is None or (memory.allocations, len(storages_of(memory))) == (0, 0)


@pytest.mark.parametrize("is_shuffled", [False, True], ids=["in order", "shuffled"])
def test_random_programs_agree_with_a_heap_kept_by_hand(
    is_shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storages, "FEWEST_ROWS", 16)  # so that there are many stretches
    chance = random.Random(3)
    alive: dict[int, tuple[int, int]] = {}
    rows, expected = [], []
    for time in range(2000):
        storage = chance.randrange(40)
        if storage in alive:
            start, size = alive.pop(storage)
            rows.append((time, F, storage, -1))
            expected.append((start, time, size))
        else:
            alive[storage] = time, chance.randrange(1, 1000)
            rows.append((time, A, storage, alive[storage][1]))
    expected += [(start, -1, size) for start, size in alive.values()]
    if is_shuffled:
        chance.shuffle(rows)
    memory, losses = tensor_memory(recording(*rows))
    assert memory is not None
    assert spans(storages_of(memory)) == sorted(expected)
    assert losses == ()
