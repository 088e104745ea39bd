"""What an H200 delivered, decoded again and compared with what the programs knew (tests/gpu/programs.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.tables.events import Threads
from perfprobe.tables.gpu import ApiCalls, Kernels
from tests.collect.cupti_fixture import read_fixture, replay
from tests.gpu import exact, links, recorded
from tests.gpu.child import Room
from tests.gpu.recorded import Seen

GOLDEN = Path(__file__).parent.parent / "golden" / "gpu"


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return json.loads((GOLDEN / "truth.json").read_text(encoding="utf-8"))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, tmp_path, tmp_path / "result.json")


def seen(name: str, truth: dict[str, Any], folder: Path) -> Seen:
    recording, _ = replay(read_fixture(GOLDEN / f"{name}.cupti"), folder / "again.perfprobe")
    return Seen(recording, truth)


def test_kernels_are_as_long_as_their_own_clock_says(truth: dict[str, Any], room: Room) -> None:
    spins = seen("spins", truth["spins"], room.folder)
    exact.judge_spins(spins, room)
    exact.judge_clock(spins, room)


def test_copies_have_direction_memory_and_size(truth: dict[str, Any], room: Room) -> None:
    exact.judge_copies(seen("moves", truth["moves"]["copies"], room.folder), room)


def test_nodes_of_a_graph_belong_to_their_launch(truth: dict[str, Any], room: Room) -> None:
    graph = truth["moves"]["graph"]
    links.judge_graph(seen("moves", graph, room.folder), graph["replays"], graph["nodes"], room)


def test_every_kernel_was_launched_within_an_operator_of_its_thread(
    truth: dict[str, Any], room: Room
) -> None:
    lines = seen("lines", truth["lines"], room.folder)
    calls, os_thread = recorded.columns(lines.recording[ApiCalls]), lines.recording[Threads].os_thread
    row_of = {number: row for row, number in enumerate(calls["correlation"].tolist())}
    launched = [row_of[number] for number in lines.recording[Kernels].correlation.tolist()]
    around = [operators_around(lines, calls, os_thread, row) for row in launched]
    assert len(around) == 40
    assert all(around)
    of_products = [names for names in around if "aten::mm" in names]
    # Each of three rounds has one product in forward and two in backward; each is two kernels with split K.
    assert len(of_products) % 3 == 0
    assert len(of_products) >= 9


def operators_around(lines: Seen, calls: recorded.Rows, os_thread: Any, row: int) -> list[str]:
    thread = int(os_thread[calls["thread"][row]])
    middle_ns = int(np.mean([calls["start_ns"][row], calls["end_ns"][row]]))
    rows = lines.truth["operators"]
    return [name for name, start_ns, end_ns, of in rows if of == thread and start_ns <= middle_ns <= end_ns]
