"""Memory is read in stretches of time: the figures are those of a simple count, however long a stretch is."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from perfprobe.merge import link, storages
from perfprobe.tables import storage
from perfprobe.tables.memory import MemoryEvent, MemoryUse
from perfprobe.tables.strings import Strings
from tests.build import Op, Program, op
from tests.found import find

NAMES = ("aten::mm", "aten::empty", "aten::relu", "aten::empty_like")


class Change(NamedTuple):
    """An allocation or a free."""

    time_ns: int
    thread: int
    address: int
    size_bytes: int  # -1: a free


def nested(chance: random.Random, begin_ns: int, end_ns: int, levels: int) -> list[Op]:
    """Operators within a stretch of time, one after another, with others inside."""
    found = []
    while levels and end_ns - begin_ns > 100 and chance.random() < 0.8:
        start_ns = begin_ns + chance.randrange(1, 40)
        stop_ns = min(start_ns + chance.randrange(20, 40 * 5**levels), end_ns - 1)
        if stop_ns - start_ns < 10:
            break
        inside = nested(chance, start_ns + 1, stop_ns - 1, levels - 1)
        found.append(op(chance.choice(NAMES), start_ns, stop_ns, *inside))
        begin_ns = stop_ns + 1
    return found


def changed(chance: random.Random, end_ns: int) -> list[Change]:
    """At each moment at most one change, on either thread."""
    alive: list[int] = []
    found = []
    for time_ns in sorted(chance.sample(range(5, end_ns), 900)):
        thread = chance.randrange(2)
        if alive and chance.random() < 0.48 + len(alive) / 200:
            found.append(Change(time_ns, thread, alive.pop(chance.randrange(len(alive))), -1))
            continue
        address = next(each for each in iter(lambda: chance.randrange(99), None) if each not in alive)
        alive.append(address)
        found.append(Change(time_ns, thread, address, chance.randrange(1, 500)))
    return found


def around(operators: list[Op], time_ns: int) -> list[str]:
    """The operators at this time, outermost first."""
    for each in operators:
        if each.start_ns <= time_ns <= each.end_ns:
            return [each.name, *around(list(each.inside), time_ns)]
    return []


class Counted:
    """What happened, counted one change at a time."""

    def __init__(self, threads: list[list[Op]], changes: list[Change]) -> None:
        self.sums: Counter[tuple[str, str]] = Counter()
        self.totals: Counter[tuple[str, str]] = Counter()
        self.held_bytes: dict[int, int] = {}
        alive: dict[int, tuple[int, str]] = {}
        at_peak: list[tuple[int, str]] = []
        self.peak_bytes = 0
        for change in changes:
            names = around(threads[change.thread], change.time_ns)
            is_free = change.size_bytes < 0
            size_bytes = alive[change.address][0] if is_free else change.size_bytes
            makers = [each for each in names if not each.startswith("aten::empty")]
            owner = (makers or names or [""])[-1]
            self.sums[owner, "freed_bytes" if is_free else "allocated_bytes"] += size_bytes
            self.sums[owner, "frees" if is_free else "allocations"] += 1
            for name in names:
                column = "total_freed_bytes" if is_free else "total_allocated_bytes"
                self.totals[name, column] += size_bytes
            if is_free:
                del alive[change.address]
            else:
                alive[change.address] = (size_bytes, owner)
            self.held_bytes[change.time_ns] = sum(size for size, _ in alive.values())
            if self.held_bytes[change.time_ns] > self.peak_bytes:
                self.peak_bytes, at_peak = self.held_bytes[change.time_ns], list(alive.values())
        for column, rows in (("peak_bytes", at_peak), ("held_bytes", list(alive.values()))):
            for size_bytes, owner in rows:
                self.sums[owner, column] += size_bytes


def used(path: Path) -> tuple[MemoryUse, list[str]]:
    trace = link(storage.read(path))
    strings = trace.recording[Strings]
    return find(trace, MemoryUse)[MemoryUse], [*(strings[each] for each in range(len(strings))), ""]


@pytest.mark.parametrize("fewest", [1, 40, 10_000], ids=["each block", "some rows", "all at once"])
def test_figures_are_those_of_a_count_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    monkeypatch.setattr(storages, "FEWEST_ROWS", fewest)
    monkeypatch.setattr(storage, "BATCH_ROWS", 50)
    for seed in range(8):
        chance = random.Random(seed)
        threads = [nested(chance, 0, 40_000, 6) for _ in range(2)]
        changes = changed(chance, 40_000)
        counted = Counted(threads, changes)
        program = Program()
        for thread, operators in enumerate(threads):
            program.run(*operators, thread=program.thread(thread + 1))
        for each in changes:
            event = MemoryEvent.FREED if each.size_bytes < 0 else MemoryEvent.ALLOCATED
            row = (each.time_ns, each.thread, int(event), each.address, each.size_bytes, -1)
            program.row("memory", *row, anew=True)
        path = tmp_path / f"{seed}.perfprobe"
        path.write_bytes(program.encode(block_rows=17))
        use, texts = used(path)
        assert use.peak_bytes == counted.peak_bytes
        assert use.held_bytes == counted.held_bytes[changes[-1].time_ns]
        assert _table(use.operators, texts) == +counted.sums
        assert _table(use.calls, texts, "total_") == +counted.totals
        held = use.timeline
        for time_ns in set(held.time_ns.tolist()):
            assert int(held.held_bytes[held.time_ns == time_ns].sum()) == counted.held_bytes[time_ns]
        assert int(use.categories.peak_bytes.sum()) == use.peak_bytes
        assert np.all(np.diff(use.largest.size_bytes) <= 0)
        assert use.largest.size_bytes[0] == max(each.size_bytes for each in changes)


def _table(rows: object, texts: list[str], prefix: str = "") -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    columns = {name: values.tolist() for name, values in rows.columns().items()}  # type: ignore[attr-defined]
    wanted = ("allocations", "allocated_bytes", "frees", "freed_bytes", "peak_bytes", "held_bytes")
    chosen = ("total_allocated_bytes", "total_freed_bytes") if prefix else wanted
    for place, name in enumerate(columns["name"]):
        for column in chosen:
            found[texts[name], column] += columns[column][place]
    return +found


def test_operators_own_bytes_do_not_depend_on_how_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    operators, changes = nested(chance, 0, 40_000, 6), changed(chance, 40_000)
    program = Program()
    program.run(*operators, thread=program.thread(1))
    program.thread(2)
    for each in changes:
        event = MemoryEvent.FREED if each.size_bytes < 0 else MemoryEvent.ALLOCATED
        row = (each.time_ns, each.thread, int(event), each.address, each.size_bytes, -1)
        program.row("memory", *row, anew=True)
    path = tmp_path / "run.perfprobe"
    path.write_bytes(program.encode(block_rows=17))
    monkeypatch.setattr(storage, "BATCH_ROWS", 20)
    expected: Counter[str] = Counter()
    for each in changes:
        names = around(operators, each.time_ns) if each.thread == 0 else []
        if names and each.size_bytes > 0:
            expected[names[-1]] += each.size_bytes
    trace = link(storage.read(path))
    strings, found = trace.recording[Strings], Counter[str]()
    for batch in trace.operators():
        for name, own in zip(batch.name.tolist(), batch.allocated_bytes.tolist(), strict=True):
            found[strings[name]] += own
    assert +found == +expected
    assert {int(batch.allocated_bytes.max()) for batch in trace.operators(with_memory=False)} == {-1}
