"""`_softmax` and `_softmax_backward_data`: an exponential per element, and several passes over each row."""

from __future__ import annotations

from benchmarks.operators.case import Case

_BACKWARD = "input_dtype=f32"

CASES = (
    Case(
        "attention", "aten::_softmax", "f32[64,256,256] dim=-1 half_to_float=False", "Rows that stay in L1."
    ),
    Case("rows of 8", "aten::_softmax", "f32[262144,8] dim=-1 half_to_float=False", "Set-up for 8 elements."),
    Case(
        "vocabulary",
        "aten::_softmax",
        "f32[512,16000] dim=-1 half_to_float=False",
        "Rows of 64 KB: three passes, the later ones from L2.",
    ),
    Case(
        "across rows",
        "aten::_softmax",
        "f32[64,256,256] dim=1 half_to_float=False",
        "Sums run down the columns: vectors hold neighbours of different sums.",
    ),
    Case(
        "backward",
        "aten::_softmax_backward_data",
        f"f32[64,256,256] f32[64,256,256] dim=-1 {_BACKWARD}",
        "Two passes over a row that stays in L1.",
    ),
    Case(
        "backward, rows of 8",
        "aten::_softmax_backward_data",
        f"f32[262144,8] f32[262144,8] dim=-1 {_BACKWARD}",
        "Set-up for 8 elements.",
    ),
    Case(
        "backward across rows",
        "aten::_softmax_backward_data",
        f"f32[64,256,256] f32[64,256,256] dim=1 {_BACKWARD}",
        "Down the columns.",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("softmax", __doc__, CASES)
