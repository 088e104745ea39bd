"""Reuse distances of operands in programs whose touches are counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.tables import storage
from perfprobe.tables.events import RESULT, OperandReuse, Signatures
from perfprobe.tables.strings import Strings
from tests.collect.recorded import one_thread

KIB = 256  # elements of float32
FURTHER, NEVER = 6, 7


@pytest.fixture(autouse=True)
def single() -> None:
    one_thread()


def reuse_of(
    path: Path, run: Callable[[], object], detail: str | None = "bench", results: bool = False
) -> dict[str, list[dict[int, int]]]:
    """By operator and signature, for each operand: the number of calls by bucket."""
    with perfprobe.profile(path, detail=detail):
        run()
    recording = storage.read(path)
    names = {}
    for batch in recording.operators(["name", "signature"]):
        for name, signature in zip(batch.name.tolist(), batch.signature.tolist(), strict=True):
            text = recording[Strings][recording[Signatures].text[signature]] if signature >= 0 else ""
            names[signature] = f"{recording[Strings][name].removeprefix('aten::')} {text}"
    found: dict[str, list[dict[int, int]]] = {}
    rows = recording[OperandReuse]
    columns = (rows.signature, rows.operand, rows.bucket, rows.calls)
    for signature, operand, bucket, calls in zip(*(column.tolist() for column in columns), strict=True):
        if (operand == RESULT) is results:
            place, operands = operand % RESULT, found.setdefault(names[signature], [])
            operands.extend({} for _ in range(place + 1 - len(operands)))
            operands[place][bucket] = calls
    return found


def test_distances_equal_those_counted_by_hand(tmp_path: Path) -> None:
    """Each tensor is touched once, then this many bytes of others, then the tensor again."""
    sizes = [1, 100, 1000, 3000, 12_000, 40_000, 80_000]  # KiB touched in between
    first = [torch.ones(3 + at) for at in range(len(sizes))]  # each has a different signature
    between = [torch.ones(size * KIB) for size in sizes]

    def run() -> None:
        for one, other in zip(first, between, strict=True):
            one.neg_()
            other.neg_()
            one.sin_()

    found = reuse_of(tmp_path / "it.perfprobe", run)
    assert [found[f"neg_ f32[{3 + at}]"] for at in range(len(sizes))] == [[{NEVER: 1}]] * len(sizes)
    assert [found[f"sin_ f32[{3 + at}]"] for at in range(len(sizes))] == [
        [{bucket: 1}] for bucket in (0, 1, 2, 3, 4, 5, FURTHER)
    ]


def test_repeated_touches_count_once(tmp_path: Path) -> None:
    """Two tensors of 40 KiB in turn, a hundred times, are 80 KiB and not 8 MiB."""
    first, other, another = torch.ones(3), torch.ones(40 * KIB), torch.ones(40, KIB)

    def run() -> None:
        first.neg_()
        for _ in range(100):
            other.neg_()
            another.neg_()
        first.sin_()

    found = reuse_of(tmp_path / "it.perfprobe", run)
    assert found["sin_ f32[3]"] == [{1: 1}]
    assert found[f"neg_ f32[{40 * KIB}]"] == [{NEVER: 1, 1: 99}]


def test_views_and_allocations_touch_nothing(tmp_path: Path) -> None:
    weight, bias, inputs = torch.ones(8, 5), torch.ones(8), torch.ones(2, 5)

    def run() -> None:
        weight.t()
        weight.view(40)
        torch.empty_like(weight)
        weight.sin_()  # counts as never touched before
        torch.nn.functional.linear(inputs, weight, bias)  # its addmm touches all three
        inputs.cos_()

    found = reuse_of(tmp_path / "it.perfprobe", run)
    assert found["sin_ f32[8,5]"] == [{NEVER: 1}]
    assert found["linear f32[2,5] f32[8,5] f32[8]"] == [{NEVER: 1}, {0: 1}, {NEVER: 1}]
    assert found["cos_ f32[2,5]"] == [{0: 1}]


def test_a_result_is_in_the_smallest_cache_until_evicted(tmp_path: Path) -> None:
    """The result of an operator is in the smallest cache until other data evicts it."""
    start, other = torch.ones(7), torch.ones(100 * KIB)

    def run() -> None:
        made = start.exp()
        made.view(7, 1).tanh()
        other.neg_()
        made.view(1, 7).tanh()

    found = reuse_of(tmp_path / "it.perfprobe", run)
    assert found["tanh f32[7,1]"] == [{0: 1}]
    assert found["tanh f32[1,7]"] == [{1: 1}]


def test_an_operand_that_is_passed_twice(tmp_path: Path) -> None:
    mean, gradient, other = torch.ones(6), torch.ones(6), torch.ones(6)
    with perfprobe.profile(tmp_path / "it.perfprobe", detail="bench"):
        mean.addcmul_(gradient, gradient)
        other.add_(gradient)
    rows = storage.read(tmp_path / "it.perfprobe")[OperandReuse]
    found = {(row[0], row[1]): row[2] for row in zip(rows.signature, rows.operand, rows.same_as, strict=True)}
    first, second = sorted({signature for signature, _ in found})
    assert [found[first, at] for at in range(3)] == [-1, -1, 1]
    assert [found[second, at] for at in range(2)] == [-1, -1]


def test_without_that_detail_there_is_no_reuse(tmp_path: Path) -> None:
    assert reuse_of(tmp_path / "it.perfprobe", lambda: torch.ones(3).neg_(), detail=None) == {}


def test_the_memory_of_a_result(tmp_path: Path) -> None:
    """The previous result's memory, unmapped and mapped again: 40 MiB, with 30 touched in between."""
    start, other = torch.ones(40 << 10, KIB), torch.ones(30 << 10, KIB)

    def run() -> None:
        for _ in range(3):
            start.exp()
            other.neg_()

    found = reuse_of(tmp_path / "it.perfprobe", run, results=True)
    (calls,) = found["exp f32[40960,256]"]
    assert calls == {NEVER: 1, FURTHER: 2}
    assert "neg_ f32[30720,256]" not in found
