"""CPU time of operators against what they are known to have used: a spin by the same clock, and a sleep."""

from __future__ import annotations

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
    """Operators whose CPU time is known, defined for a test."""
    made = torch.library.Library("perfprobe_cpu", "FRAGMENT")
    for name, work in (("spin", spin), ("sleep", sleep), ("around", around)):
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


def rows_of(path: Path, run: Callable[[], object], cpu_time: object = "all") -> dict[str, Row]:
    return {row.name: row for row in record(path, run, cpu_time=cpu_time)}


@pytest.mark.usefixtures("library")
def test_a_spinning_and_a_sleeping_operator(tmp_path: Path) -> None:
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


def test_products_add_up_to_what_the_thread_used(tmp_path: Path) -> None:
    """Of the same clock, read around a loop: no more than it, and most of it."""
    a = torch.randn(256, 256)
    used_ns = 0

    def run() -> None:
        nonlocal used_ns
        before_ns = time.thread_time_ns()
        for _ in range(50):
            torch.mm(a, a)
        used_ns = time.thread_time_ns() - before_ns

    rows = [row for row in record(tmp_path / "run.perfprobe", run, cpu_time="all") if row.name == "aten::mm"]
    assert len(rows) == 50
    assert used_ns / 2 < sum(row.cpu_ns for row in rows) <= used_ns


def test_every_operator_is_within_its_parent(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)
    rows = record(
        tmp_path / "run.perfprobe", lambda: layer(torch.ones(3, 2, 16)).sum().backward(), cpu_time="all"
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


@pytest.mark.parametrize("cpu_time", ["outermost", True])
def test_cpu_time_of_outermost_operators_only(tmp_path: Path, cpu_time: object) -> None:
    a = torch.randn(256, 256)
    rows = record(tmp_path / "run.perfprobe", lambda: nn.functional.linear(a, a), cpu_time=cpu_time)
    assert {row.cpu_ns >= 0 for row in rows if row.depth == 0} == {True}
    assert {row.cpu_ns for row in rows if row.depth > 0} == {-1}
    assert {row.cpu_self_ns for row in rows} == {-1}


@pytest.mark.parametrize("cpu_time", ["off", False])
def test_no_cpu_time(tmp_path: Path, cpu_time: object) -> None:
    rows = record(tmp_path / "run.perfprobe", lambda: torch.ones(2) + 1, cpu_time=cpu_time)
    assert {(row.cpu_ns, row.cpu_self_ns) for row in rows} == {(-1, -1)}


def test_a_choice_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no choice of operators to read CPU time of 'some'"):
        record(tmp_path / "run.perfprobe", lambda: None, cpu_time="some")
