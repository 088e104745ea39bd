"""Judgements of the session checks about complete recordings, and about faulty ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.build import Program
from tests.gpu import sessions
from tests.gpu.child import Room
from tests.gpu.recorded import Seen
from tests.gpu.test_judges import MS, verdict

BEGIN = 100 * MS


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, tmp_path, tmp_path / "result.json")


def block(folder: Path, number: int, fault: str = "") -> Seen:
    """A block of two spins and three empty kernels, each 10 us after its launch."""
    program = Program()
    program.thread(1)
    begin = BEGIN + number * 50 * MS
    names = ["perfprobe_spin"] * 2 + ["perfprobe_empty"] * 3
    if fault == "of before":
        names.append("perfprobe_empty")
    for at, name in enumerate(names):
        start = begin + at * MS
        program.api_call("cudaLaunchKernel", start, start + 5000, at)
        ran = {"early": start - 50_000, "untimed": -1, "foreign": start + 3_600_000 * MS}.get(
            fault, start + 10_000
        )
        ran = ran if at == 2 or not fault else start + 10_000
        called = 99 if fault == "unlinked" and at == 2 else at
        program.kernel(name, ran, ran + 2000 if ran > 0 else -1, called)
    if fault == "loss":
        program.losses = [("gpu", "late", 1, "")]
    rounds = [{"before_ns": BEGIN + n * 50 * MS, "after_ns": BEGIN + (n * 50 + 10) * MS} for n in range(3)]
    return Seen(program.recording(folder), {"rounds": rounds, "spins": 2, "empty": 3})


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("", ""),
        ("of before", "block 2: kernels .*'perfprobe_empty': 4"),
        ("untimed", "block 2: 1 kernels without times"),
        ("foreign", "outside of the block"),
        ("early", "block 2: a kernel started 50000 ns before its launch"),
        ("unlinked", "block 2: 4 of 5 kernels have their launch"),
        ("loss", "block 2: lost .*late x1"),
    ],
)
def test_judgement_of_blocks(fault: str, words: str, tmp_path: Path, room: Room) -> None:
    found = []
    for number, wrong in enumerate(("", fault, "")):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(block(folder, number, wrong))
    verdict(lambda: sessions.judge_blocks(found, room), words)


GOOD: dict[str, Any] = {
    **dict.fromkeys(("malformed", "unknown_kinds", "untimed", "dropped_records"), 0),
    **dict.fromkeys(("beyond_limits", "unread_names", "refused_buffers"), 0),
    **{"requested_buffers": 3, "completed_buffers": 3, "canary": True, "broken": False},
}


@pytest.mark.parametrize(
    ("fault", "losses", "words"),
    [
        ({}, [], ""),
        ({"requested_buffers": 4, "refused_buffers": 1}, [], ""),
        ({"completed_buffers": 2}, [], "spins: 1 buffers were never given back"),
        ({"canary": False}, [], "spins: the canary did not arrive"),
        ({"broken": True}, [], "ended early"),
        ({"unknown_kinds": 5}, [], "'unknown_kinds': 5"),
        ({"malformed": 2}, [], "'malformed': 2"),
        ({}, ["dropped x3"], "lost .*dropped x3"),
    ],
)
def test_judgement_of_losses(fault: dict[str, Any], losses: list[str], words: str, room: Room) -> None:
    verdict(lambda: sessions.judge_losses("spins", {**GOOD, **fault}, losses, room), words)


@pytest.mark.parametrize(
    ("buffers", "words"),
    [
        ([(1024, 512, 0), (1024, 1024, 0)], ""),
        ([(1024, 512, 0), (1024, 256, 8)], "1 buffers have bytes behind"),
        ([(1024, 1024, 0), (1024, 0, 0)], "none of 2 buffers is filled in part"),
    ],
)
def test_judgement_of_bytes_after_the_valid_ones(
    buffers: list[tuple[int, int, int]], words: str, room: Room
) -> None:
    verdict(lambda: sessions.judge_rests(buffers, room), words)


@pytest.mark.parametrize(
    ("flushes", "capture_ms", "kernels", "words"),
    [
        (6, 1500, 4, ""),
        (0, 1500, 4, "0 flushes"),
        (6, 900, 4, "took 900 ms only"),
        (6, 1500, 3, "3 graph kernels, 4 ran"),
    ],
)
def test_judgement_of_captures(
    flushes: int, capture_ms: int, kernels: int, words: str, tmp_path: Path, room: Room
) -> None:
    program = Program(gpu={"flushes": flushes})
    program.thread(1)
    for launch in (1, 2):
        program.api_call("cudaGraphLaunch", launch * 1000, launch * 1000 + 50, launch)
    for at in range(kernels):
        program.kernel("perfprobe_empty", 5000 + at, 5001 + at, 1 + at // 2, graph=3, graph_node=at % 2)
    truth = {"replays": 2, "nodes": 2, "capture_ns": capture_ms * MS}
    verdict(lambda: sessions.judge_capture(Seen(program.recording(tmp_path), truth), room), words)


NAMED = "no GPU was recorded: another tool uses CUPTI already: Kineto (cuptiSubscribe_v2: 39)"


@pytest.mark.parametrize(
    ("kernels", "loss", "can_name", "words"),
    [
        (3, "", True, ""),
        (2, "", True, "2 kernels recorded, 3 ran"),
        (0, NAMED, True, ""),
        (0, NAMED.replace(": Kineto", ""), False, ""),
        (0, NAMED.replace(": Kineto", ""), True, "no word of the other client"),
        (0, "", False, "no word of the other client"),
    ],
)
def test_judgement_after_another_profiler(
    kernels: int, loss: str, can_name: bool, words: str, tmp_path: Path, room: Room
) -> None:
    program = Program()
    for at in range(kernels):
        program.kernel("perfprobe_empty", 1000 + at, 1001 + at, at)
    program.losses = [("gpu", loss, 1, "")] if loss else []
    seen = Seen(program.recording(tmp_path), {"empty": 3, "seen_by_torch": 20, "can_name": can_name})
    verdict(lambda: sessions.judge_after(seen, room), words)


@pytest.mark.parametrize(
    ("driver", "output", "loss", "words"),
    [
        (3, "perfprobe: the recording is a.perfprobe", "", ""),
        (3, "AMD EPYC · 16 cores · NVIDIA driver 580.95 · 1 NVIDIA GPU", "", ""),
        (0, "", "", "the driver answers 0, not 3"),
        (3, "perfprobe: no GPU is recorded", "", "it says"),
        (3, "", "no GPU was recorded", "losses"),
    ],
)
def test_judgement_of_programs_without_a_gpu(
    driver: int, output: str, loss: str, words: str, tmp_path: Path, room: Room
) -> None:
    program = Program()
    program.losses = [("gpu", loss, 1, "")] if loss else []
    seen = Seen(program.recording(tmp_path), {"driver": driver}, output)
    verdict(lambda: sessions.judge_quiet(seen, room), words)
