"""All of bench with torch: real but short processes. Only classes that no load can change are asserted."""

import os

import pytest

from perfprobe.bench.measure import BenchSettings, measure
from perfprobe.tables.measurements import Measurement, Wanted
from tests.bench.huge_pages import SMALL_PAGES

pytest.importorskip("torch")

ONCE = BenchSettings(processes=1, most_processes=1, seconds=0.1)


@pytest.fixture(scope="module")
def rows() -> dict[str, Measurement]:
    """Several calls measured in one process."""
    calls = {
        "bmm": Wanted("aten::bmm", "f32[8,128,64] f32[8,64,128]"),
        "div": Wanted("aten::div.Tensor", "f32[512,512] f32[512,512]{1,512}"),
        "add_": Wanted("aten::add_.Tensor", "f32[512,512] f32[512,512] alpha=1"),
        "tiny": Wanted("aten::add.Tensor", "f32[4] f32[4] alpha=1"),
        "fresh": Wanted("aten::mul.Tensor", "f32[16777216] f32[16777216]"),
        "nested": Wanted("aten::linear", "f32[64,64] f32[64,64]"),
        "two": Wanted("aten::mm", "f32[512,512] f32[512,512]", threads=2),
        "unknown": Wanted("aten::no_such_operator", "f32[4]"),
        "refused": Wanted("aten::mm", "f32[4,5] f32[4,5]"),
        "huge": Wanted("aten::neg", "f32[1000000000000]"),
        "elsewhere": Wanted("aten::neg", "f32[4]@cuda:77"),
    }
    found = measure([(call, None) for call in calls.values()], ONCE)
    assert found.stopped is None
    return dict(zip(calls, found.rows, strict=True))


def bounds(row: Measurement) -> dict[str, float]:
    return {bound.kind: bound.fraction.value for bound in row.bounds}


@pytest.mark.parametrize("name", ["bmm", "div", "add_", "tiny", "fresh", "two"])
def test_a_call_has_all_its_times(rows: dict[str, Measurement], name: str) -> None:
    row = rows[name]
    for found in (row.rotating, row.warm, row.wall, row.floor):
        assert found is not None
        assert found.value > 0
    assert row.contention is not None
    assert row.verdict is not None
    assert row.verdict.kind != "not rebuilt"


def test_limits_depend_on_the_work(rows: dict[str, Measurement]) -> None:
    assert set(bounds(rows["bmm"])) == {"memory", "gemm", "overhead"}
    assert set(bounds(rows["div"])) == {"memory", "element", "overhead"}
    assert {bound.reference for bound in rows["add_"].bounds} == {"add_ in place", "one element"}


def test_a_tiny_call_is_overhead_bound(rows: dict[str, Measurement]) -> None:
    assert bounds(rows["tiny"])["overhead"] > 0.5
    assert bounds(rows["bmm"])["overhead"] < 0.5


def test_a_transposed_operand_is_found(rows: dict[str, Measurement]) -> None:
    speedups = {found.kind: found.speedup.value for found in rows["div"].counterfactuals}
    assert speedups["contiguous"] > 1.15
    assert bounds(rows["div"])["memory"] < 0.6


@SMALL_PAGES
def test_fresh_memory_has_a_fault_per_page_and_recycling_gains(rows: dict[str, Measurement]) -> None:
    row = rows["fresh"]
    assert row.faults is not None
    assert row.faults == pytest.approx(16777216 * 4 / 4096, rel=0.01)
    assert {found.kind: found.speedup.value for found in row.counterfactuals}["recycled output"] > 1.15


def test_nested_calls_are_reported(rows: dict[str, Measurement]) -> None:
    assert "aten::addmm" in dict(rows["nested"].nested) or "aten::matmul" in dict(rows["nested"].nested)
    assert rows["bmm"].nested == ()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_two_threads_are_used(rows: dict[str, Measurement]) -> None:
    two, one = rows["two"].other_threads, rows["bmm"].other_threads
    assert two is not None
    assert one is not None
    assert one < 0.1
    assert two > 0.3


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("unknown", "no such operator"),
        ("refused", "torch rejected it"),
        ("huge", "its operands take more"),
        ("elsewhere", "cuda:77"),
    ],
)
def test_a_call_that_cannot_be_measured_has_a_reason(
    rows: dict[str, Measurement], name: str, reason: str
) -> None:
    row = rows[name]
    assert row.rotating is None
    assert reason in (row.not_rebuilt or "")
    assert row.verdict is not None
    assert row.verdict.kind == "not rebuilt"
