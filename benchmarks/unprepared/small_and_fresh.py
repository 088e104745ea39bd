"""Calls that are mostly dispatch, and calls that are mostly page faults."""

from __future__ import annotations

from benchmarks.expected.expectation import ALLOCATION, OVERHEAD, Expected

SMALL = (
    Expected("mul [64]", "aten::mul.Tensor", "f32[64] f32[64]", (OVERHEAD,), "64 products"),
    Expected(
        "div by a column [32,4]", "aten::div.Tensor", "f32[32,4] f32[32,1]", (OVERHEAD,), "128 quotients"
    ),
    Expected(
        "addmm of 2 rows",
        "aten::addmm",
        "f32[4] f32[2,8] f32[8,4] beta=1 alpha=1",
        (OVERHEAD,),
        "64 multiply-adds",
    ),
    Expected("relu [32]", "aten::relu", "f32[32]", (OVERHEAD,), "32 comparisons"),
    Expected("cat of two fours", "aten::cat", "(f32[4],f32[4]) dim=0", (OVERHEAD,), "32 bytes"),
    Expected(
        "embedding of 4 words",
        "aten::embedding",
        "f32[100,8] i64[4] padding_idx=-1 scale_grad_by_freq=False sparse=False",
        (OVERHEAD,),
        "128 bytes",
        values='[null, {"lowest": 0, "highest": 99, "distinct": 1.0}]',
    ),
    Expected("mean of 64", "aten::mean.dim", "f32[64] dim=(0) keepdim=False", (OVERHEAD,), "64 additions"),
    Expected("fill_ [128]", "aten::fill_.Scalar", "f32[128] value=0.5", (OVERHEAD,), "512 bytes"),
)

FRESH = (
    Expected(
        "add into 64 MB",
        "aten::add.Tensor",
        "f32[4096,4096] f32[4096,4096] alpha=1",
        (ALLOCATION,),
        "16,384 fresh pages",
    ),
    Expected("relu into 100 MB", "aten::relu", "f32[32,64,112,112]", (ALLOCATION,), "25,088 fresh pages"),
    Expected(
        "mul by a number into 64 MB",
        "aten::mul.Scalar",
        "f32[16777216] other=2.0",
        (ALLOCATION,),
        "16,384 fresh pages",
    ),
    Expected(
        "cat into 64 MB",
        "aten::cat",
        "(f32[2048,4096],f32[2048,4096]) dim=0",
        (ALLOCATION,),
        "16,384 fresh pages",
    ),
)
