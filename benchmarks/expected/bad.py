"""Below 60 % of every limit."""

from __future__ import annotations

from benchmarks.expected.expectation import CONVOLUTION, NORM, RANDOM_SIGNS, SLOW, Expected

BAD = (
    Expected(
        "div by a transposed matrix",
        "aten::div.Tensor",
        "f32[2048,2048] f32[2048,2048]{1,2048}",
        SLOW,
        "one operand is walked across its lines, 8 KB apart: 0.06 elsewhere",
        modifiers=("layout-bound",),
    ),
    Expected(
        "copy_ of a transposed matrix",
        "aten::copy_",
        "f32[2048,2048] f32[2048,2048]{1,2048} non_blocking=False",
        SLOW,
        "blocks of 60x60 through a buffer: 0.26 elsewhere",
    ),
    Expected(
        "threshold_backward, transposed gradient",
        "aten::threshold_backward",
        "f32[2048,2048]{1,2048} f32[2048,2048] threshold=0",
        SLOW,
        "as div by a transposed matrix; with random signs 5x slower still",
        values=f"[{RANDOM_SIGNS}, {RANDOM_SIGNS}]",
        modifiers=("layout-bound",),
    ),
    Expected(
        "masked_fill_ with a full random mask",
        "aten::masked_fill_.Scalar",
        "f32[64,256,256] bool[64,256,256] value=-1e+09",
        SLOW,
        "a branch for each element, half of them mispredicted: 0.12 elsewhere",
        values='[null, {"true": 0.5}]',
    ),
    Expected(
        "bmm 4096x8³",
        "aten::bmm",
        "f32[4096,8,8] f32[4096,8,8]",
        SLOW,
        "each product is shorter than the set-up of a GEMM: 0.39 elsewhere",
    ),
    Expected(
        "bmm 16384x4³",
        "aten::bmm",
        "f32[16384,4,4] f32[16384,4,4]",
        SLOW,
        "the same, smaller",
    ),
    Expected(
        "layer norm backward, few long rows",
        "aten::native_layer_norm_backward",
        "f32[16,262144] f32[16,262144] normalized_shape=(262144) f32[16,1] f32[16,1] f32[262144] f32[262144] "
        + NORM,
        SLOW,
        "rows of 1 MB are read three times, from beyond L1: 0.26 elsewhere",
    ),
    Expected(
        "layer norm, rows of 8",
        "aten::native_layer_norm",
        "f32[65536,8] normalized_shape=(8) f32[8] f32[8] eps=1e-05",
        SLOW,
        "set-up for each row of 32 bytes",
    ),
    Expected(
        "softmax, rows of 8",
        "aten::_softmax",
        "f32[262144,8] dim=-1 half_to_float=False",
        SLOW,
        "set-up for each row, and half a vector of work",
    ),
    Expected(
        "sum of rows of 4",
        "aten::sum.dim_IntList",
        "f32[1048576,4] dim=(1) keepdim=False",
        SLOW,
        "a reduction shorter than a vector",
    ),
    Expected(
        "conv 3x3 depthwise",
        "aten::mkldnn_convolution",
        f"f32[8,64,56,56] f32[64,1,3,3] - {CONVOLUTION} groups=64",
        SLOW,
        "nine multiply-adds for each point, and the channels are far apart: 0.28 elsewhere",
    ),
    Expected(
        "embedding backward, small vocabulary",
        "aten::embedding_dense_backward",
        "f32[4096,512] i64[4096] num_weights=1000 padding_idx=-1 scale_grad_by_freq=False",
        SLOW,
        "a call of axpy for each index: 0.35 elsewhere",
        values='[null, {"lowest": 0, "highest": 999, "distinct": 0.24}]',
    ),
    Expected(
        "index_put_ accumulating",
        "aten::_index_put_impl_",
        "f32[32000,512] (i64[4096]) f32[4096,512] accumulate=True unsafe=False",
        SLOW,
        "an atomic addition for each element: 0.28 elsewhere",
        values='[null, {"lowest": 0, "highest": 31999, "distinct": 0.94}, null]',
    ),
)
