"""Denormal results, compared with numpy's."""

import json

import numpy as np
import pytest

from perfprobe.bench.denormals import flushing, makes_denormals
from perfprobe.bench.subjects import Arguments
from perfprobe.tables.measurements import Wanted
from tests.bench.test_cases import answer

torch = pytest.importorskip("torch")

LOW, HIGH = np.float32(-95.0), np.float32(1.0)


def test_only_results_that_are_denormal_are_reported() -> None:
    tiny = np.finfo(np.float32).tiny
    for value in (LOW, HIGH):
        expected = bool(0 < np.exp(value) < tiny)
        assert makes_denormals(torch, torch.exp, Arguments([torch.full((8,), float(value))])) is expected
    assert not makes_denormals(torch, torch.argmax, Arguments([torch.zeros(8)]))
    assert makes_denormals(torch, torch.unbind, Arguments([torch.tensor([0.0, 1e-40])]))


def test_written_operands_are_restored() -> None:
    operand = torch.full((8,), float(LOW))
    kept = operand.clone()
    arguments = Arguments([operand], restore=lambda: operand.copy_(kept))
    assert makes_denormals(torch, torch.Tensor.exp_, arguments)
    assert torch.equal(operand, kept)


def test_flushing_is_limited_to_the_call() -> None:
    operand, factor = torch.full((8,), 1e-30), np.float32(1e-10)
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormals")
    flushed = flushing(torch, torch.mul)(operand, float(factor))
    assert flushed.tolist() == [0.0] * 8  # type: ignore[attr-defined]
    assert torch.mul(operand, float(factor)).tolist() == [float(np.float32(1e-30) * factor)] * 8


@pytest.mark.parametrize(("value", "kinds"), [(LOW, ["flushed"]), (HIGH, [])])
def test_flushing_is_tried_if_results_are_denormal(value: np.float32, kinds: list[str]) -> None:
    lowest = float(value)
    parts = {"zeros": 0.0, "negatives": float(value < 0), "denormals": 0.0, "nonfinite": 0.0}
    digest = {**parts, "quantiles": [lowest] * 9}
    found = answer(Wanted("aten::exp", "f32[64]", "f32[64]", json.dumps([digest])))
    assert found.not_rebuilt is None
    assert [changed.kind for changed in found.changes if changed.kind == "flushed"] == kinds
