"""Cross entropy step by step: `_log_softmax`, `nll_loss`, and the backward of both, over all scores.

A fused kernel would read and write the scores once; these read and write them three times.
"""

from __future__ import annotations

from benchmarks.operators.case import Case

_VOCABULARY, _SMALL = "f32[1024,16000]", "f32[4096,1000]"
_LOSS = "reduction=1 ignore_index=-100"


def _labels(classes: int) -> str:
    return f'{{"lowest": 0, "highest": {classes - 1}, "distinct": 0.9}}'


CASES = (
    Case("log_softmax", "aten::_log_softmax", f"{_SMALL} dim=1 half_to_float=False", "A result of 16 MB."),
    Case(
        "log_softmax, vocabulary",
        "aten::_log_softmax",
        f"{_VOCABULARY} dim=1 half_to_float=False",
        "A result of 64 MB: half of the time is spent on its new pages.",
    ),
    Case(
        "log_softmax, 8 classes",
        "aten::_log_softmax",
        "f32[262144,8] dim=1 half_to_float=False",
        "Rows of 8.",
    ),
    Case(
        "log_softmax backward",
        "aten::_log_softmax_backward_data",
        f"{_SMALL} {_SMALL} dim=1 input_dtype=f32",
        "Two streams in, one out, an exponential per element.",
    ),
    Case(
        "nll_loss",
        "aten::nll_loss_forward",
        f"{_SMALL} i64[4096] - {_LOSS}",
        "Reads one float of each row, and so one cache line.",
        f"[null, {_labels(1000)}]",
    ),
    Case(
        "nll_loss backward",
        "aten::nll_loss_backward",
        f"f32[] {_SMALL} i64[4096] - {_LOSS} f32[]",
        "16 MB of zeros for 4096 numbers.",
        f"[null, null, {_labels(1000)}, null]",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("cross_entropy", __doc__, CASES)
