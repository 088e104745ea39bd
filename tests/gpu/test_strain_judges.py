"""Judgements of the load checks about good and bad evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.overhead.gpu import OBSERVERS
from perfprobe.tables.gpu import CopyKind, MemoryKind
from tests.build import Program
from tests.gpu import strain
from tests.gpu.child import Room
from tests.gpu.recorded import Seen
from tests.gpu.test_judges import MS, verdict


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, tmp_path, tmp_path / "result.json")


def launched(count: int, loss: str = "") -> Program:
    program = Program(gpu={"most_buffers": 5})
    program.thread(1)
    for at in range(count):
        program.api_call("cudaLaunchKernel", at * 100, at * 100 + 50, at)
        program.kernel("perfprobe_empty", at * 100 + 60, at * 100 + 70, at)
    program.losses = [("gpu", loss, 1, "")] if loss else []
    return program


@pytest.mark.parametrize(
    ("kernels", "late_ns", "loss", "words"),
    [
        (20, 2000, "", ""),
        (20, 9000, "", "to fetch a launch took 1000 ns, in the end 9000 ns"),
        (19, 1000, "", "19 kernels recorded, 20 ran"),
        (20, 1000, "dropped", "lost .*dropped"),
    ],
)
def test_judgement_of_many_launches(
    kernels: int, late_ns: int, loss: str, words: str, tmp_path: Path, room: Room
) -> None:
    """Ten parts of two launches. One slow part in the middle is no growth."""
    parts = [2000, 2000, 2000, 90_000, 2000, 2000, 2000, *[2 * late_ns] * 3]
    seen = Seen(launched(kernels, loss).recording(tmp_path), {"launches": 20, "others_cpu_ns": parts})
    verdict(lambda: strain.judge_storm(seen, room), words)


@pytest.mark.parametrize(
    ("kernels", "loss", "words"),
    [(5, "", ""), (4, "", "4 kernels recorded, 5 ran"), (5, "refused", "lost .*refused")],
)
def test_judgement_of_many_threads(kernels: int, loss: str, words: str, tmp_path: Path, room: Room) -> None:
    seen = Seen(launched(kernels, loss).recording(tmp_path), {"launches": {"1001": 2, "1002": 3}})
    verdict(lambda: strain.judge_crowd(seen, room), words)


STEPS = 2
GOOD: dict[str, Any] = {"steps": STEPS, "losses": [2.3, 2.2], "workers": 2, "compiled": "compiled"}


@pytest.mark.parametrize(
    ("fault", "truth", "words"),
    [
        ("", {}, ""),
        ("no graphs", {"compiled": "plain"}, ""),
        ("no graphs", {}, "no kernel of a CUDA graph"),
        ("unlinked", {}, "1 kernels have no launch"),
        ("untimed", {}, "1 kernels without times"),
        ("one thread", {}, "autograd has its own"),
        ("pageable", {}, "0 copies from pinned memory in 2 steps"),
        ("loss", {}, "lost .*late"),
        ("", {"losses": [float("nan"), 1.0]}, "training gave"),
        ("", {"workers": 1}, "1 workers made data"),
        ("", {"steps": 3}, "10 kernels in 3 steps"),
    ],
)
def test_judgement_of_training_steps(
    fault: str, truth: dict[str, Any], words: str, tmp_path: Path, room: Room
) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    for at in range(5 * STEPS):
        thread = at % 2 if fault != "one thread" else 0
        program.api_call("cudaLaunchKernel", at * MS, at * MS + 5000, at, thread=thread)
        start = -1 if fault == "untimed" and at == 3 else at * MS + 9000
        graph = 7 if at == 4 and fault != "no graphs" else -1
        called = 900 if fault == "unlinked" and at == 3 else at
        if graph >= 0:
            program.api_call("cudaGraphLaunch", at * MS + 6000, at * MS + 8000, 800)
            called = 800
        program.kernel("add", start, start + 10 if start > 0 else -1, called, graph=graph, graph_node=graph)
    memory = MemoryKind.PAGEABLE if fault == "pageable" else MemoryKind.PINNED
    for at in range(2 * STEPS):
        program.copy(CopyKind.HOST_TO_DEVICE, at * MS, at * MS + 9, 100 + at, source=memory)
    program.losses = [("gpu", "late", 1, "")] if fault == "loss" else []
    seen = Seen(program.recording(tmp_path), {**GOOD, **truth})
    verdict(lambda: strain.judge_step(seen, room), words)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({}, ""),
        ({"recorded": None}, "left: hung"),
        ({"recorded": 0}, "left: status 0, alone 7"),
        ({"kernels": None}, "left: the recording cannot be read"),
        ({"kernels": 3}, "left: 3 kernels recorded"),
    ],
)
def test_judgement_of_endings(fault: dict[str, Any], words: str, room: Room) -> None:
    left = {"how": "left", "alone": 7, "recorded": 7, "kernels": 1001, **fault}
    asserted = {"how": "asserted", "alone": 1, "recorded": 1, "kernels": 0}
    verdict(lambda: strain.judge_endings([asserted, left], room), words)


@pytest.mark.parametrize(
    ("waits", "took_ms", "words"),
    [
        ([(7, 29)], 30, ""),
        ([(7, 15), (7, 14), (90, 500)], 30, ""),
        ([], 30, "waits of 0.0 ms, 30.0 ms passed"),
        ([(8, 29), (None, 29)], 30, "waits of 0.0 ms, 30.0 ms passed"),
        ([(7, 29), (7, 29)], 30, "waits of 58.0 ms in 30.0 ms"),
        ([(7, 1)], 1, "nothing lay before it"),
    ],
)
def test_judgement_of_pageable_waits(
    waits: list[tuple[int | None, int]], took_ms: int, words: str, room: Room
) -> None:
    rows = [{"line": line, "total_ns": ms * MS} for line, ms in waits]
    truth = {"took_ns": took_ms * MS, "marks": {"PAGEABLE": 7, "STANDIN": 3}}
    verdict(lambda: strain.judge_pageable(rows, truth, room), words)


def test_compared_observers_are_measured() -> None:
    assert {*strain.OURS, *strain.THEIRS, strain.BOTH_OF_THEIRS} <= set(OBSERVERS)


def loops(added_ns: int) -> dict[str, Any]:
    return {"operators": {"plain_ns": [4000, 4100, 4050], "watched_ns": [4000 + added_ns] * 3}}


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (loops(1500), loops(2000), ""),
        (loops(2100), loops(2000), ""),
        (
            loops(4000),
            loops(2000),
            "operators: perfprobe, GPU only adds 3950 ns, torch.profiler CUDA 1950 ns",
        ),
        (loops(1000), "took more than 60 s", "not measured: .*took more than 60 s"),
    ],
)
def test_judgement_of_launch_bound_loops(ours: Any, theirs: Any, words: str, room: Room) -> None:
    found = {**dict.fromkeys(strain.OURS, ours), **dict.fromkeys(strain.THEIRS, theirs)}
    verdict(lambda: strain.judge_launch_bound({**found, strain.BOTH_OF_THEIRS: theirs}, room), words)
