"""The whole tool on the transformer workload, against a table of truth read off its source by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.collect.runs import perfprobe

WORKLOAD = Path(__file__).parent.parent / "benchmarks" / "workloads" / "transformer.py"
STEPS, LAYERS = 2, 2
SIZES = {"epochs": 1, "steps": STEPS, "batch": 2, "length": 8, "width": 16, "inner-width": 32, "heads": 2}
SMALL = [f"--{name}={value}" for name, value in {**SIZES, "layers": LAYERS, "threads": 1}.items()]

SCORES = "scores = torch.bmm(query, key.transpose(1, 2))"
DIVISION = "scores = scores / math.sqrt(self.head_width)"
SOFTMAX = "weights = functional.softmax(scores, dim=-1)"
MIXED = "mixed = self.join_heads(torch.bmm(weights, value), x.shape[0])"
NORMS = ("normed: Tensor = self.norm(mixed + x)", "normed: Tensor = self.norm(inner + x)")

# Batch 2 with 2 heads: 4 times [8 positions, 8 features].
# (operator, phase, text of its line, signature): calls a layer and step.
EXPECTED = {
    ("aten::bmm", "forward", SCORES, "f32[4,8,8] f32[4,8,8]{64,1,8}"): 1,
    ("aten::bmm", "forward", MIXED, "f32[4,8,8] f32[4,8,8]"): 1,
    ("aten::div", "forward", DIVISION, "f32[4,8,8] f64[]"): 1,
    ("aten::div", "backward", DIVISION, "f32[4,8,8] f64[]"): 1,
    ("aten::_softmax", "forward", SOFTMAX, "f32[4,8,8] dim=-1 half_to_float=False"): 1,
}
BACKWARD_BMM = {SCORES: 2, MIXED: 2}  # each has a gradient for both of its inputs


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("transformer")
    outcome = perfprobe(["-q", "--json", "report.json", str(WORKLOAD), *SMALL], folder)
    assert outcome.status == 0
    assert outcome.out.startswith(b"epoch 1/1: loss ")
    loaded: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    source = WORKLOAD.read_text(encoding="utf-8").splitlines()
    found = []
    for row in report["tables"]["hotspots"]:
        in_workload = row["file"] is not None and row["file"].endswith("transformer.py")
        found.append({**row, "text": source[row["line"] - 1].strip() if in_workload else None})
    return found


def test_operators_of_attention_have_their_shapes_and_lines(rows: list[dict[str, Any]]) -> None:
    calls: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        key = (row["operator"], row["phase"], row["text"], row["signature"])
        if key in EXPECTED:
            calls[key] += row["calls"]
    assert calls == {key: count * STEPS * LAYERS for key, count in EXPECTED.items()}


def test_no_other_line_has_them(rows: list[dict[str, Any]]) -> None:
    lines = {
        "aten::bmm": {SCORES, MIXED},
        "aten::_softmax": {SOFTMAX},
        "aten::native_layer_norm_backward": {*NORMS},
    }
    for operator, texts in lines.items():
        assert {row["text"] for row in rows if row["operator"] == operator} == texts
        module = {row["module"] for row in rows if row["operator"] == operator}
        assert all(path.startswith("layers.*.") for path in module)


def test_backward_has_the_line_of_the_forward_call(rows: list[dict[str, Any]]) -> None:
    backward = [row for row in rows if row["phase"] == "backward"]
    calls: Counter[str] = Counter()
    for row in backward:
        calls[row["text"]] += row["calls"] if row["operator"] == "aten::bmm" else 0
    assert +calls == {line: count * STEPS * LAYERS for line, count in BACKWARD_BMM.items()}
    norms = [row for row in backward if row["operator"] == "aten::native_layer_norm_backward"]
    assert sorted((row["text"], row["calls"]) for row in norms) == [
        (text, STEPS * LAYERS) for text in sorted(NORMS)
    ]


def test_what_has_no_forward_line_is_named(rows: list[dict[str, Any]]) -> None:
    without = {row["reason"] for row in rows if row["phase"] == "backward" and row["line"] is None}
    assert without == {"AccumulateGrad: no forward line"}
