"""CPU time of operators that spin for a known time by the same clock, or sleep."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from perfprobe.support.errors import UsageError
from tests.collect.recorded import Row, one_thread, record

SPUN_NS = 30_000_000
SLEPT_NS = 200_000_000


@pytest.fixture(autouse=True)
def single() -> None:
    one_thread()


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    """Operators with known CPU time, defined for a test."""
    made = torch.library.Library("perfprobe_cpu", "FRAGMENT")
    for name, work in (("spin", spin), ("sleep", sleep), ("around", around), ("touch", touch)):
        made.define(f"{name}(Tensor x) -> Tensor")
        made.impl(name, work, "CPU")
    yield made
    made._destroy()


def spin(x: torch.Tensor) -> torch.Tensor:
    end_ns = time.thread_time_ns() + SPUN_NS
    while time.thread_time_ns() < end_ns:
        pass
    return x.clone()


def sleep(x: torch.Tensor) -> torch.Tensor:
    time.sleep(SLEPT_NS / 1e9)
    return x.clone()


def around(x: torch.Tensor) -> torch.Tensor:
    spun: torch.Tensor = torch.ops.perfprobe_cpu.spin(x)
    return spun


TOUCHED_PAGES = 500


def touch(x: torch.Tensor) -> torch.Tensor:
    with mmap.mmap(-1, TOUCHED_PAGES * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(TOUCHED_PAGES):
            pages[page * mmap.PAGESIZE] = 1
    return x.clone()


def rows_of(path: Path, run: Callable[[], object]) -> dict[str, Row]:
    return {row.name: row for row in record(path, run, detail="bench")}


@pytest.mark.usefixtures("library")
def test_cpu_time_of_a_spinning_and_a_sleeping_operator(tmp_path: Path) -> None:
    x = torch.ones(4)

    def run() -> None:
        torch.ops.perfprobe_cpu.around(x)
        torch.ops.perfprobe_cpu.sleep(x)

    before_ns = time.thread_time_ns()
    rows = rows_of(tmp_path / "run.perfprobe", run)
    used_ns = time.thread_time_ns() - before_ns
    around, spin, sleep = (rows[f"perfprobe_cpu::{name}"] for name in ("around", "spin", "sleep"))
    assert SPUN_NS <= spin.cpu_ns <= around.cpu_ns <= used_ns
    assert around.cpu_self_ns == around.cpu_ns - spin.cpu_ns
    assert sleep.duration_ns >= SLEPT_NS
    assert sleep.cpu_ns < SLEPT_NS / 2


def test_cpu_times_add_up_to_the_threads_cpu_time(tmp_path: Path) -> None:
    """Compared with the same clock around the loop: the sum is at most that, and most of it."""
    a = torch.randn(256, 256)
    used_ns = 0

    def run() -> None:
        nonlocal used_ns
        before_ns = time.thread_time_ns()
        for _ in range(50):
            torch.mm(a, a)
        used_ns = time.thread_time_ns() - before_ns

    rows = [row for row in record(tmp_path / "run.perfprobe", run, detail="bench") if row.name == "aten::mm"]
    assert len(rows) == 50
    assert used_ns / 2 < sum(row.cpu_ns for row in rows) <= used_ns


def test_every_operator_is_within_its_parent(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)
    rows = record(
        tmp_path / "run.perfprobe", lambda: layer(torch.ones(3, 2, 16)).sum().backward(), detail="bench"
    )
    children_ns = [0] * len(rows)
    for row in rows:
        assert row.cpu_ns >= 0
        if row.parent >= 0:
            children_ns[row.parent] += row.cpu_ns
    assert [row.cpu_self_ns for row in rows] == [
        row.cpu_ns - inside_ns for row, inside_ns in zip(rows, children_ns, strict=True)
    ]
    assert min(row.cpu_self_ns for row in rows) >= 0


@pytest.mark.usefixtures("library")
def test_each_fresh_page_is_a_page_fault(tmp_path: Path) -> None:
    """Each page faults once. Python and torch may touch a few pages themselves, but not on every call."""
    x = torch.ones(4)
    calls = record(
        tmp_path / "run.perfprobe",
        lambda: [torch.ops.perfprobe_cpu.touch(x) for _ in range(5)],
        detail="bench",
    )
    faults = sorted(row.faults for row in calls if row.name == "perfprobe_cpu::touch")
    assert TOUCHED_PAGES <= faults[0] <= faults[2] < TOUCHED_PAGES + 20


def test_recording_cost_includes_inner_operators(tmp_path: Path) -> None:
    rows = record(
        tmp_path / "run.perfprobe", lambda: torch.einsum("ij,jk->ik", *[torch.ones(4, 4)] * 2), detail="bench"
    )
    inner = [row for row in rows if row.depth > 0]
    (outer,) = [row for row in rows if row.name == "aten::einsum"]
    assert outer.recording_ns > len(inner) * max(
        row.recording_ns for row in inner if row.name == "aten::as_strided"
    )
    assert 0 < outer.recording_ns <= outer.cpu_ns


@pytest.mark.parametrize("cpu_time", ["outermost", True])
def test_cpu_time_of_outermost_operators_only(tmp_path: Path, cpu_time: object) -> None:
    a = torch.randn(256, 256)
    rows = record(tmp_path / "run.perfprobe", lambda: nn.functional.linear(a, a), cpu_time=cpu_time)
    assert {row.cpu_ns >= 0 for row in rows if row.depth == 0} == {True}
    assert {row.cpu_ns for row in rows if row.depth > 0} == {-1}
    assert {row.cpu_self_ns for row in rows} == {-1}


@pytest.mark.parametrize("cpu_time", ["off", False])
def test_cpu_time_can_be_off(tmp_path: Path, cpu_time: object) -> None:
    rows = record(tmp_path / "run.perfprobe", lambda: torch.ones(2) + 1, cpu_time=cpu_time)
    assert {(row.cpu_ns, row.cpu_self_ns) for row in rows} == {(-1, -1)}
    assert {(row.recording_ns, row.faults) for row in rows} == {(-1, -1)}


def test_cpu_time_all_is_refused_and_the_remedy_is_detail(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--cpu-time all was removed; .*--detail bench.*detail=\"bench\""):
        record(tmp_path / "run.perfprobe", lambda: None, cpu_time="all")


def test_an_unknown_choice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no choice of operators to read CPU time of 'some'"):
        record(tmp_path / "run.perfprobe", lambda: None, cpu_time="some")
