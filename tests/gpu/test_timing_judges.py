"""Judgements of the checks of the device's clock about good and bad evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gpu import timing
from tests.gpu.child import Room
from tests.gpu.test_judges import verdict


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, tmp_path, tmp_path / "result.json")


@pytest.mark.parametrize(
    ("asked_us", "read_us", "starved", "words"),
    [
        (2, 3.1, 0, ""),
        (100, 101.4, 0, ""),
        (2, 26.0, 0, "a spin of 2 us reads 26.00 us"),
        (50, 181.0, 0, "a spin of 50 us reads 181.00 us"),
        (20, 12.0, 0, "a spin of 20 us reads 12.00 us"),
        (2, 3.0, 2, "2 us: the GPU waited for the host in 2 blocks"),
    ],
)
def test_judgement_of_spins(asked_us: float, read_us: float, starved: int, words: str, room: Room) -> None:
    row = {"asked_us": asked_us, "read_us": read_us, "starved": starved, "calls": 30}
    verdict(lambda: timing.judge_spins([row], room), words)


GOOD: dict[str, Any] = {"name": "add", "clock": "gpu", "bench_us": 3.1, "script": "2.900", "graph_us": 2.2}
STARVED = "9.100 at most: the GPU waited for the host between the calls"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({}, ""),
        ({"clock": "cpu"}, "bench times it by the cpu clock"),
        ({"bench_us": 26.0}, "bench reads 26.00 us, a graph of such calls 2.20 us"),
        ({"bench_us": None}, "bench has no time"),
        ({"script": "12.000"}, "the script reads 12.00 us"),
        ({"script": STARVED}, "the script says 9.100 at most"),
        ({"script": "nothing"}, "the script says nothing of the device"),
    ],
)
def test_judgement_of_bench_times(fault: dict[str, Any], words: str, room: Room) -> None:
    verdict(lambda: timing.judge_bench([{**GOOD, **fault}], room), words)


def test_the_line_of_a_script_is_found() -> None:
    assert timing.device_line("calls 9\ndevice us/call 2.900\n") == "2.900"
    assert timing.device_line("calls 9\n") == "nothing"
