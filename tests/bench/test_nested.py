"""The part of a call's time that is spent in operators it calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from perfprobe import native
from perfprobe.bench import nested as stage
from perfprobe.bench.nested import nested
from perfprobe.support.errors import EnvironmentLack

MATRIX = torch.rand(192, 192)


class Calls:
    """A subject."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call

    def run(self, calls: int) -> None:
        for _ in range(calls):
            self._call()


@pytest.fixture
def library() -> Iterator[Any]:
    made = torch.library.Library("nested_test", "DEF")
    yield made
    made._destroy()


def parts_of(call: Callable[[], object], name: str) -> dict[str, float]:
    subject: Any = Calls(call)
    return dict(nested(torch, name, subject))


def test_waiting_does_not_count_as_part_of_a_call(library: Any) -> None:
    """By the wall clock, nearly all time is that of the waiting operator."""

    def waits(tensor: torch.Tensor) -> torch.Tensor:
        time.sleep(0.02)
        return tensor.clone()

    def computes(tensor: torch.Tensor) -> torch.Tensor:
        torch.ops.nested_test.waits(tensor)
        for _ in range(20):
            tensor = tensor @ tensor
        return tensor

    for function in (waits, computes):
        library.define(f"{function.__name__}(Tensor tensor) -> Tensor")
        library.impl(function.__name__, function, "CPU")
    parts = parts_of(lambda: torch.ops.nested_test.computes(MATRIX), "nested_test::computes")
    assert parts["aten::mm"] > 0.5
    assert parts.get("nested_test::waits", 0.0) < 0.3


def test_each_operator_inside_has_its_own_time() -> None:
    """`linear` calls `matmul`, which calls `mm`."""
    parts = parts_of(lambda: torch.nn.functional.linear(MATRIX, MATRIX), "aten::linear")
    assert 0.5 < parts["aten::mm"] <= sum(parts.values()) <= 1.05
    assert parts.get("aten::matmul", 0.0) < 0.3
    assert parts_of(lambda: torch.add(MATRIX, MATRIX), "aten::add") == {}


def test_without_the_observer_the_profiler_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> None:
        raise EnvironmentLack("no observer", "", "")

    monkeypatch.setattr(native, "observer", missing)
    parts = parts_of(lambda: torch.nn.functional.linear(MATRIX, MATRIX), "aten::linear")
    assert 0.5 < parts["aten::mm"] <= 1


def test_a_copy_three_calls_deep_is_found() -> None:
    """The sum of bools copies them to int64 first: `sum` calls `to`, `_to_copy`, `copy_`."""
    mask = torch.ones(1 << 18, dtype=torch.bool)
    assert parts_of(lambda: mask.sum(), "aten::sum")["aten::copy_"] > 0.2


def test_one_delayed_call_does_not_change_the_result() -> None:
    """In each call the copy is a tenth, except one in which the copy was interrupted and is nearly all."""
    rows = [("aten::copy_", 1, 100), ("aten::relu", 0, 1000)] * 8
    rows += [("aten::copy_", 1, 90_000), ("aten::relu", 0, 91_000), ("aten::add", 1, 5), ("aten::mul", 0, 9)]
    calls = list(stage._calls("aten::relu", iter(rows)))
    assert len(calls) == 9
    ((name, part),) = stage._parts(calls)
    assert name == "aten::copy_"
    assert part == pytest.approx(0.1)
