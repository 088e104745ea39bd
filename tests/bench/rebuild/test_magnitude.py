"""Rebuilt operands have the magnitude and the order that the program's had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import perfprobe
from perfprobe.bench.hot import hot
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.measurements import Wanted

QUANTILES = [-100.0, -98.0, -95.0, -92.0, -90.0]
SEEN = {"zeros": 0, "negatives": 1, "denormals": 0, "nonfinite": 0, "quantiles": QUANTILES}


def operands(wanted: Wanted) -> tuple[Rebuilt, list[Any]]:
    call = Rebuilt(recipe(wanted, schemas(wanted.operator, torch), 1 << 30), torch)
    return call, call.operands(0).args


def of(operator: str, text: str, *digests: dict[str, Any] | None) -> list[Any]:
    return operands(Wanted(operator, text, values=json.dumps(digests)))[1]


def test_a_rebuilt_call_has_denormal_results_if_the_program_had(tmp_path: Path) -> None:
    """Another operator had equal inputs with other values."""
    path = tmp_path / "it.perfprobe"
    with perfprobe.profile(path):
        torch.ops.aten.neg(torch.rand(4096))
        torch.ops.aten.exp(10 * torch.rand(4096) - 100)
    found = hot(Results(str(path)).findings(View(group="signature"), (Hotspots,)), 0)
    (wanted,) = [wanted for wanted, _ in found.calls if wanted.operator == "aten::exp"]
    call, (made,) = operands(wanted)
    assert -100 <= float(made.min()) < -99
    assert -91 < float(made.max()) <= -90
    result = call.function(made)
    assert bool(((result > 0) & (result < torch.finfo(torch.float32).tiny)).all())


def test_numbers_are_spread_evenly_over_the_quantiles() -> None:
    (made,) = of("aten::exp", "f32[40000]", SEEN)
    parts = torch.histogram(made, torch.tensor(QUANTILES)).hist / 40000
    assert parts.tolist() == pytest.approx([0.25] * 4, abs=0.02)


def test_other_parts_of_the_digest_are_kept() -> None:
    signed = {**SEEN, "zeros": 0.25, "negatives": 0.4, "quantiles": [-2.0, 0.5, 3.0]}
    (made,) = of("aten::exp", "f64[40000]", signed)
    assert float((made == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    assert float((made < 0).double().mean()) == pytest.approx(0.75 * 0.5 * 2 / 2.5, abs=0.02)
    (positive,) = of("aten::exp", "f64[40000]", {**signed, "negatives": 0})  # as in a counterfactual
    assert bool((positive >= 0).all())


def test_large_numbers_fit_a_small_dtype() -> None:
    (made,) = of("aten::exp", "f16[64]", {**SEEN, "negatives": 0, "quantiles": [1e5, 1e6]})
    assert bool(made.isfinite().all())


@pytest.mark.parametrize(("rising", "order"), [(1.0, 1), (0.0, -1)])
def test_sorted_rows_stay_sorted(rising: float, order: int) -> None:
    (made, *_) = of("aten::sort", "f32[8,512] dim=-1 descending=False", {**SEEN, "ascending": rising})
    assert bool((made.diff(dim=-1) * order >= 0).all())


@pytest.mark.parametrize(
    ("operator", "text", "place"),
    [("aten::mul_.Tensor", "f32[64] f32[64]", 1), ("aten::exp_", "f32[64]", 0)],
)
def test_repeatedly_written_operands_stay_ordinary(operator: str, text: str, place: int) -> None:
    made = of(operator, text, SEEN, SEEN)[place].abs()
    assert 0.5 <= float(made.min()) <= float(made.max()) <= 1.5


@pytest.mark.parametrize("quantiles", [None, [], [1.0], [1.0, None], "x", [1.0, float("nan")], [1, 10**400]])
def test_damaged_quantiles_are_ignored(quantiles: Any) -> None:
    (made,) = of("aten::exp", "f32[64]", {**SEEN, "negatives": 0, "quantiles": quantiles})
    assert 0.5 <= float(made.min()) <= float(made.max()) <= 1.5
