"""Judgements of the checks about correct recordings, and about faulty ones. Needs no GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfprobe.tables.gpu import CopyKind, MemoryKind
from tests.build import Program, op
from tests.gpu import exact, links
from tests.gpu.child import Room
from tests.gpu.links import graph_links, judge_wrong_numbers
from tests.gpu.recorded import Seen
from tests.gpu.result import Unmet

MS = 1_000_000


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, tmp_path, tmp_path / "result.json")


def spins(folder: Path, *, lost: int = 0, longer_ns: int = 500, later_ns: int = 0) -> Seen:
    """Two rounds of three spins of 1 ms, 10 us apart, and two empty kernels; `lost` spins are missing."""
    program = Program()
    program.thread(1)
    at, correlation, rounds = 100 * MS, 1, []
    program.api_call("cudaLaunchKernel", at, at + 5000, correlation)
    program.kernel("perfprobe_spin", at + 20_000 + later_ns, at + 30_000 + later_ns, correlation)
    for _ in range(2):
        at += MS
        begin, stamps = at, []
        for _ in range(3):
            correlation += 1
            program.api_call("cudaLaunchKernel", begin + 1000, begin + 6000, correlation)
            if correlation > 1 + lost:
                program.kernel(
                    "perfprobe_spin",
                    at + 10_000 + later_ns,
                    at + 10_000 + MS + longer_ns + later_ns,
                    correlation,
                )
            stamps.append([777 * MS + at, 778 * MS + at, 1_800_000])
            at += MS + 10_000
        end = at + 20_000
        rounds.append(
            {
                "asked_ns": MS,
                "before_ns": begin,
                "after_ns": end,
                "events_ns": 3 * MS + 25_000,
                "stamps": stamps,
            }
        )
        at = end
    for number in range(2):
        program.kernel("perfprobe_empty", at + number * 5000, at + number * 5000 + 1500, 100 + number)
    return Seen(program.recording(folder), {"rounds": rounds, "empty": 2})


def test_correct_spins_pass(tmp_path: Path, room: Room) -> None:
    exact.judge_spins(spins(tmp_path), room)
    assert room.said["spins"] == "7 of 7"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"lost": 1}, "6 spins recorded, 7 ran"),
        ({"longer_ns": 40_000}, "off by"),
        ({"longer_ns": -9000}, "off by"),
    ],
)
def test_wrong_spins_fail(fault: dict[str, int], words: str, tmp_path: Path, room: Room) -> None:
    with pytest.raises(Unmet, match=words):
        exact.judge_spins(spins(tmp_path, **fault), room)


def test_a_correct_clock_passes(tmp_path: Path, room: Room) -> None:
    exact.judge_clock(spins(tmp_path), room)


@pytest.mark.parametrize("later_ns", [-40_000, 60_000, 3_600 * 1000 * MS])
def test_another_clock_fails(later_ns: int, tmp_path: Path, room: Room) -> None:
    with pytest.raises(Unmet, match="outside of the program's own clock"):
        exact.judge_clock(spins(tmp_path, later_ns=later_ns), room)


def copied(folder: Path, **fault: int) -> Seen:
    """Two copies to the device and a fill, in each of the checked ways."""
    program = Program()
    for number in range(2):
        fields = {"source": MemoryKind.PINNED, "size_bytes": 2048, **fault}
        program.copy(CopyKind.HOST_TO_DEVICE, number * 1000, number * 1000 + 500, number, **fields)
    program.copy(CopyKind.FILL, 5000, 5100, 7, source=0, destination=3, size_bytes=512)
    return Seen(program.recording(folder), {"to device, pinned": [2, 2048], "fill": [1, 512]})


def test_correct_copies_pass(tmp_path: Path, room: Room) -> None:
    exact.judge_copies(copied(tmp_path), room)
    assert room.said["to device, pinned"].startswith("2 of 2, 4.1 GB/s")


@pytest.mark.parametrize("fault", [{"size_bytes": 2047}, {"source": MemoryKind.PAGEABLE}])
def test_wrong_copies_fail(fault: dict[str, int], tmp_path: Path, room: Room) -> None:
    with pytest.raises(Unmet, match="to device, pinned: 0 of 2"):
        exact.judge_copies(copied(tmp_path, **fault), room)


@pytest.mark.parametrize(
    ("starts", "stream", "words"), [((0, 5), 9, ""), ((0, 100), 9, "overlap"), ((0, 5), 7, "not on 2")]
)
def test_judgement_of_streams(
    starts: tuple[int, int], stream: int, words: str, tmp_path: Path, room: Room
) -> None:
    program = Program()
    for number in range(5):
        first, second = (start * MS + number * 4 * MS for start in starts)
        program.kernel("perfprobe_spin", first, first + 4 * MS, number, stream=7)
        program.kernel("perfprobe_spin", second, second + 3 * MS, 50 + number, stream=stream)
    verdict(lambda: exact.judge_streams(Seen(program.recording(tmp_path), {"launches": 5}), room), words)


def verdict(judge: Callable[[], Any], words: str) -> None:
    """The fault that was found, or that nothing was found."""
    if not words:
        judge()
        return
    with pytest.raises(Unmet, match=words):
        judge()


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        ({"void add<int>(int *)": [2, 210], "Memcpy HtoD": [1, 9], "Optimizer.step": [1, 5]}, ""),
        ({"void add<int>(int*)": [3, 200], "Memcpy HtoD": [1, 9]}, "1 names differ"),
        ({"void add<int>(int*)": [2, 200]}, "copies and fills differ"),
        ({"void add<int>(int*)": [2, 900], "Memset": [1, 9]}, "by torch.profiler 900 ns"),
    ],
)
def test_judgement_of_counts_by_kineto(
    theirs: dict[str, Any], words: str, tmp_path: Path, room: Room
) -> None:
    program = Program()
    for number in range(2):
        program.kernel("void add<int>(int*)", number * 1000, number * 1000 + 100, number)
    program.copy(CopyKind.HOST_TO_DEVICE, 5000, 5100, 7)
    seen = Seen(program.recording(tmp_path), {})
    verdict(lambda: exact.judge_kineto(seen, theirs, room), words)


@pytest.mark.parametrize(
    ("launches", "words"), [({"1001": 2, "1002": 1}, ""), ({"1001": 1, "1002": 2}, "thread 1001: 2")]
)
def test_judgement_of_threads(launches: dict[str, int], words: str, tmp_path: Path, room: Room) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    for number, thread in enumerate((0, 0, 1)):
        program.api_call("cudaLaunchKernel", number * 100, number * 100 + 50, number, thread=thread)
    seen = Seen(program.recording(tmp_path), {"launches": launches, "main": 1001})
    verdict(lambda: links.judge_threads(seen, room), words)


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ([(1, 10), (1, 11), (2, 10), (2, 11)], ""),
        ([(1, 10), (1, 11), (2, 10)], "3 graph kernels, 4 ran"),
        ([(1, 10), (1, 11), (9, 10), (9, 11)], "2 graph kernels have no launch"),
        ([(1, 10), (1, 10), (2, 10), (2, 11)], "cannot be distinguished"),
    ],
)
def test_judgement_of_graphs(kernels: list[tuple[int, int]], words: str, tmp_path: Path, room: Room) -> None:
    program = Program()
    program.thread(1)
    for correlation in (1, 2):
        program.api_call("cudaGraphLaunch", correlation * 1000, correlation * 1000 + 50, correlation)
    for at, (correlation, node) in enumerate(kernels):
        program.kernel("perfprobe_empty", 5000 + at, 5001 + at, correlation, graph=3, graph_node=node)
    seen = Seen(program.recording(tmp_path), {})
    verdict(lambda: links.judge_graph(seen, 2, 2, room), words)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ((4, 4, 0), ""),
        ((4, 1, 0), ""),
        ((3, 3, 0), "3 graph kernels, 4 ran"),
        ((4, 3, 1), "1 kernels of graphs are under calls that launched none"),
    ],
)
def test_judgement_of_graphs_with_wrong_ids(links: tuple[int, int, int], words: str, room: Room) -> None:
    verdict(lambda: judge_wrong_numbers(*links, 4, room), words)


def test_links_of_graphs_are_counted(tmp_path: Path) -> None:
    """Of two launches, 1 and 2. Launch 50 does not exist."""
    program = Program()
    program.thread(1)
    for correlation in (1, 2):
        program.api_call("cudaGraphLaunch", correlation * 1000, correlation * 1000 + 50, correlation)
    for at, call in enumerate((1, 2, 50, 50)):
        program.kernel("perfprobe_empty", 5000 + at, 5001 + at, call, graph=3, graph_node=at)
    assert graph_links(Seen(program.recording(tmp_path), {})) == (4, 2, 0)


@pytest.mark.parametrize(("line", "words"), [(5, ""), (6, "aten::mm on")])
def test_judgement_of_lines(line: int, words: str, tmp_path: Path, room: Room) -> None:
    program = Program()
    program.thread(1)
    at = {
        mark: program.stack(f"/me/train.py:{number} main")
        for mark, number in (("MATMUL", line), ("SOFTMAX", 7))
    }
    share = {"signature": program.signature("f32[2,2]"), "sequence": 4}
    copy, wait = program.stack("/me/train.py:9 main"), program.stack("/me/train.py:10 main")
    program.run(
        op("aten::mm", 1000, 2000, stack=at["MATMUL"]),
        op("aten::_softmax", 3000, 4000, stack=at["SOFTMAX"], **share),
        op("aten::_softmax_backward_data", 5000, 6000, stack=at["SOFTMAX"]),
        op("aten::copy_", 7000, 8000, stack=copy),
    )
    for number, start in enumerate((1000, 3000, 5000)):
        program.api_call("cudaLaunchKernel", start + 100, start + 200, number)
        program.kernel("kernel", start + 5000, start + 5100, number)
    program.api_call("cudaMemcpyAsync", 7100, 7200, 50)
    program.copy(CopyKind.DEVICE_TO_HOST, 9000, 9100, 50)
    program.api_call("cudaDeviceSynchronize", 10_000, 11_000, 51, stack=wait)
    program.gpu_wait(4, 10_000, 11_000, 51)
    truth = {"marks": {"MATMUL": 5, "SOFTMAX": 7, "COPY": 9, "WAIT": 10}}
    seen = Seen(program.recording(tmp_path), truth)
    verdict(lambda: links.judge_lines(seen, room), words)


@pytest.mark.parametrize(
    ("counted", "live", "words"),
    [
        ({"calls": 2, "ns": 300}, 2, ""),
        ({"calls": 2, "ns": 299}, 2, "counters of kernels"),
        ({"calls": 3, "ns": 300}, 3, "counters of kernels"),
        ({"calls": 2, "ns": 300}, 1, "the program read"),
    ],
)
def test_judgement_of_counters(
    counted: dict[str, int], live: int, words: str, tmp_path: Path, room: Room
) -> None:
    copy = {"calls": 1, "bytes": 1024, "ns": 50}
    counters = {"kernels": counted, "copies": {"host_to_device": copy}, "fills": dict.fromkeys(copy, 0)}
    program = Program(gpu={"counters": counters})
    program.kernel("one", 1000, 1100, 1)
    program.kernel("two", 2000, 2200, 2)
    program.copy(CopyKind.HOST_TO_DEVICE, 3000, 3050, 3)
    truth = {"kernels": 2, "looks": 1, "live": {"kernels": {"calls": live}}}
    verdict(lambda: exact.judge_counters(Seen(program.recording(tmp_path), truth), room), words)


def test_losses_of_gpus_are_reported(tmp_path: Path) -> None:
    program = Program()
    program.losses = [("gpu", "dropped", 3, "a remedy"), ("samples", "late", 1, "")]
    assert Seen(program.recording(tmp_path), {}).losses() == ["dropped x3"]
