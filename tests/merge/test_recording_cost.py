"""The recorder's own part of CPU times, compared with counts by hand and by brute force."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.merge.link import link
from perfprobe.merge.recording_cost import Inside
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.strings import Strings
from tests.build import Program, op

COST = {"timed_event_ns": 100.0, "empty_cpu_ns": 10.0}


def recording_ns(folder: Path, **meta: Any) -> dict[str, int]:
    made = Program(**meta)
    made.thread(1)
    inner = op("leaf", 200, 300, cpu_ns=90)
    made.run(
        op(
            "outer",
            0,
            1000,
            op("middle", 100, 500, inner, cpu_ns=300),
            op("short", 600, 700, cpu_ns=4),
            cpu_ns=900,
        ),
        op("alone", 1000, 1100, cpu_ns=50),
    )
    trace = link(made.recording(folder, block_rows=2))
    rows = LinkedOperators.concat(list(trace.operators([])))
    names = [trace.recording[Strings][name] for name in rows.name.tolist()]
    return dict(zip(names, rows.recording_ns.tolist(), strict=True))


def test_the_cost_of_an_operator_and_of_those_inside(tmp_path: Path) -> None:
    found = recording_ns(tmp_path, recording={"cpu_time": "all"}, cost=COST)
    assert found == {"leaf": 10, "middle": 110, "short": 4, "outer": 310, "alone": 10}


@pytest.mark.parametrize("cpu_time", ["outermost", "off"])
def test_the_cost_is_unknown_unless_all_operators_are_timed(cpu_time: str, tmp_path: Path) -> None:
    assert set(recording_ns(tmp_path, recording={"cpu_time": cpu_time}, cost=COST).values()) == {-1}


def test_the_cost_is_unknown_if_it_was_not_measured(tmp_path: Path) -> None:
    assert set(recording_ns(tmp_path, recording={"cpu_time": "all"}).values()) == {-1}


def test_many_calls_on_two_threads_agree_with_brute_force() -> None:
    chance = random.Random(5)
    rows: list[tuple[int, int, int]] = []  # thread, depth, operators inside

    def call(thread: int, depth: int) -> int:
        inside = sum(
            call(thread, depth + 1) for _ in range(chance.choice([0, 0, 1, 2, 3]) if depth < 6 else 0)
        )
        rows.append((thread, depth, inside))
        return inside + 1

    for _ in range(200):
        call(chance.randrange(2), 0)
    thread, depth, expected = (np.array(column) for column in zip(*rows, strict=True))
    inside, found = Inside(), []
    for begin in range(0, len(rows), 17):
        part = slice(begin, begin + 17)
        found += inside.counts(thread[part].astype(np.int32), depth[part].astype(np.int32)).tolist()
    assert found == expected.tolist()
