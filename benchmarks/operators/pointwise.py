"""Elementwise operators: at the limit of memory if operands have the same layout, far below if not."""

from __future__ import annotations

from benchmarks.operators.case import HALF_ZERO, RANDOM_SIGNS, Case

_SQUARE = "f32[2048,2048]"

CASES = (
    Case("div", "aten::div.Tensor", f"{_SQUARE} {_SQUARE}", "12 bytes per division, so memory limits."),
    Case("div in L2", "aten::div.Tensor", "f32[256,256] f32[256,256]", "Fits a cache: the division shows."),
    Case("div by a column", "aten::div.Tensor", f"{_SQUARE} f32[2048,1]", "The divisor is one number a row."),
    Case("div by a row", "aten::div.Tensor", f"{_SQUARE} f32[2048]", "The divisor stays in L1."),
    Case(
        "div by a transposed matrix",
        "aten::div.Tensor",
        f"{_SQUARE} {_SQUARE}{{1,2048}}",
        "One operand is read in steps of 8 KB: 64 bytes are fetched for each float.",
    ),
    Case("div into 64 MB", "aten::div.Tensor", "f32[4096,4096] f32[4096,4096]", "New pages for every call."),
    Case("div_ by a number", "aten::div_.Scalar", "f32[4194304] other=1.0", "In place: each line once."),
    Case("add", "aten::add.Tensor", f"{_SQUARE} {_SQUARE} alpha=1", "Two streams in, one out."),
    Case("add [16]", "aten::add.Tensor", "f32[16] f32[16] alpha=1", "Only the cost of the call."),
    Case(
        "add_", "aten::add_.Tensor", "f32[4194304] f32[4194304] alpha=1", "Two streams, one of them written."
    ),
    Case("mul", "aten::mul.Tensor", "f32[4194304] f32[4194304]", "Two streams in, one out."),
    Case(
        "mul by a mask",
        "aten::mul.Tensor",
        "f32[4194304] bool[4194304]",
        "As in dropout: the mask is converted block by block.",
        '[null, {"true": 0.9}]',
    ),
    Case("mul_ by a number", "aten::mul_.Scalar", "f32[4194304] other=1.0", "In place: each line once."),
    Case("relu", "aten::clamp_min", "f32[4194304] min=0", "Without a branch.", f"[{RANDOM_SIGNS}]"),
    Case("exp", "aten::exp", "f32[1048576]", "A polynomial in vectors."),
    Case("tanh", "aten::tanh", "f32[1048576]", "More arithmetic for the same bytes."),
    Case("gelu", "aten::gelu", 'f32[1048576] approximate="none"', "With erf, in vectors."),
    Case("gelu by tanh", "aten::gelu", 'f32[1048576] approximate="tanh"', "Meant to be cheaper."),
    Case(
        "pow 2.5", "aten::pow.Tensor_Scalar", "f32[1048576] exponent=2.5", "A logarithm and an exponential."
    ),
    Case("sqrt", "aten::sqrt", "f32[1048576]", "Of numbers above zero: an instruction."),
    Case(
        "sqrt of zeros",
        "aten::sqrt",
        "f32[1048576]",
        "As in Adam for weights without a gradient: some processors treat zeros differently.",
        f"[{HALF_ZERO}]",
    ),
    Case(
        "relu backward",
        "aten::threshold_backward",
        f"{_SQUARE} {_SQUARE} threshold=0",
        "Two streams in, one out.",
        f"[{RANDOM_SIGNS}, {RANDOM_SIGNS}]",
    ),
    Case(
        "relu backward, transposed",
        "aten::threshold_backward",
        f"{_SQUARE}{{1,2048}} {_SQUARE} threshold=0",
        "As div by a transposed matrix; and without vectors each sign is a branch.",
        f"[{RANDOM_SIGNS}, {RANDOM_SIGNS}]",
    ),
    Case("to bf16", "aten::_to_copy", "f32[4194304] dtype=bf16 non_blocking=False", "Halves the bytes."),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("pointwise", __doc__, CASES)
