"""Signatures of some operators, derived by hand from the workloads' tiny sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks.truth import language_model, preprocessing, resnet, small_operators, transformer
from tests.workloads.recorded import ARGUMENTS, Recorded

pytestmark = pytest.mark.slow

Signatures = dict[tuple[str, str, str, str], int]  # operator, phase, text of its line, signature: calls

ADDMM = "beta=1 alpha=1"
SOFTMAX = "half_to_float=False"

# Two steps of two layers. Batch 2 with 2 heads: 4 times [8 positions, 8 features]; all heads: 16 features.
SCORES, MIXED, DIVISION = transformer.SCORES, transformer.MIXED, transformer.DIVISION
TRANSFORMER: Signatures = {
    ("aten::bmm", "forward", SCORES, "f32[4,8,8] f32[4,8,8]{64,1,8}"): 4,
    ("aten::bmm", "forward", MIXED, "f32[4,8,8] f32[4,8,8]"): 4,
    ("aten::div", "forward", DIVISION, "f32[4,8,8] f64[]"): 4,
    ("aten::div", "backward", DIVISION, "f32[4,8,8] f64[]"): 4,
    ("aten::_softmax", "forward", transformer.SOFTMAX, f"f32[4,8,8] dim=-1 {SOFTMAX}"): 4,
    ("workloads::window_mean", "forward", transformer.WINDOW, "f32[2,8,16] radius=2"): 2,
    ("workloads::window_mean_backward", "backward", transformer.WINDOW, "f32[2,8,16] radius=2"): 2,
}
# Two steps. Two images of 16 by 16, first with 4 channels; 2 by 2 with 32 in the last stage; 10 classes.
RESNET: Signatures = {
    ("aten::relu", "forward", resnet.FIRST_RELU, "f32[2,4,16,16]"): 2,
    ("aten::addmm", "forward", resnet.CLASSIFY, f"f32[10] f32[2,32] f32[32,10]{{1,32}} {ADDMM}"): 2,
    ("aten::mm", "backward", resnet.CLASSIFY, "f32[2,10] f32[10,32]"): 2,
    ("aten::mm", "backward", resnet.CLASSIFY, "f32[10,2]{1,10} f32[2,32]"): 2,
    ("aten::_log_softmax", "forward", resnet.LOSS, f"f32[2,10] dim=1 {SOFTMAX}"): 2,
}
# Two windows of 3 words by a batch of 2: 6 rows; 8 features, 11 words.
DECODER = language_model.DECODER
LANGUAGE_MODEL: Signatures = {
    ("aten::addmm", "forward", DECODER, f"f32[11] f32[6,8] f32[8,11]{{1,8}} {ADDMM}"): 2,
    ("aten::mm", "backward", DECODER, "f32[6,11] f32[11,8]"): 2,
    ("aten::mm", "backward", DECODER, "f32[11,6]{1,11} f32[6,8]"): 2,
    ("aten::_log_softmax", "forward", language_model.LOSS, f"f32[6,11] dim=1 {SOFTMAX}"): 2,
}
# Seven steps.
SMALL_OPERATORS: Signatures = {
    ("aten::addmm", "other", small_operators.LINES[0][0], f"f32[8] f32[8,8] f32[8,8] {ADDMM}"): 7,
    ("aten::maximum", "other", small_operators.LINES[2][0], "f32[8,8] f32[8,8]"): 7,
    ("aten::add", "other", small_operators.LINES[3][0], "f32[8,8] f32[8,8] alpha=1"): 7,
}
# Two batches of 3 documents; 64 features, 8 classes.
PREPROCESSING: Signatures = {
    ("aten::mm", "other", preprocessing.SHARES, "f32[3,64] f32[64,8]"): 2,
    ("aten::_softmax", "other", preprocessing.SHARES, f"f32[3,8] dim=-1 {SOFTMAX}"): 2,
}
SIGNATURES = {
    "transformer": TRANSFORMER,
    "resnet": RESNET,
    "language_model": LANGUAGE_MODEL,
    "small_operators": SMALL_OPERATORS,
    "preprocessing": PREPROCESSING,
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_operators_have_their_shapes(name: str, recorded: Callable[[str], Recorded]) -> None:
    truth = recorded(name).truth
    calls: Counter[tuple[str, str, str | None, str]] = Counter()
    for row in recorded(name).rows:
        key = (row["operator"], row["phase"], truth.text_of(row), row["signature"])
        if key in SIGNATURES[name]:
            calls[key] += row["calls"]
    assert calls == SIGNATURES[name]
