"""Verdicts about overhead, fresh pages and threads, and verdicts that must not be given."""

from __future__ import annotations

from benchmarks.expected.expectation import (
    ALLOCATION,
    COMPUTE,
    CONVOLUTION,
    NORM,
    OVERHEAD,
    SERIAL,
    SLOW,
    UNJUDGED,
    Expected,
)

# At least half of the time is the measurement floor.
OVERHEADS = (
    Expected("add [16]", "aten::add.Tensor", "f32[16] f32[16] alpha=1", (OVERHEAD,), "97 % floor elsewhere"),
    Expected("mul of scalars", "aten::mul.Tensor", "f32[] f32[]", (OVERHEAD,), "one product"),
    Expected("mm 8³", "aten::mm", "f32[8,8] f32[8,8]", (OVERHEAD,), "75 % floor elsewhere"),
    Expected("copy_ [8]", "aten::copy_", "f32[8] f32[8] non_blocking=False", (OVERHEAD,), "32 bytes"),
    Expected(
        "sum [8]", "aten::sum.dim_IntList", "f32[8] dim=(0) keepdim=False", (OVERHEAD,), "eight additions"
    ),
    Expected(
        "softmax [4,8]", "aten::_softmax", "f32[4,8] dim=-1 half_to_float=False", (OVERHEAD,), "32 elements"
    ),
    Expected(
        "layer norm [4,16]",
        "aten::native_layer_norm",
        "f32[4,16] normalized_shape=(16) f32[16] f32[16] eps=1e-05",
        (OVERHEAD,),
        "64 elements",
    ),
    Expected(
        "empty [16]",
        "aten::empty.memory_format",
        "size=(16) dtype=f32 layout=0 device=cpu",
        (OVERHEAD,),
        "only overhead",
    ),
)

# At least 30 % of the time is page faults: memory of more than 32 MB returns to the kernel after each call.
ALLOCATIONS = (
    Expected(
        "div into 64 MB",
        "aten::div.Tensor",
        "f32[4096,4096] f32[4096,4096]",
        (ALLOCATION,),
        "16,384 pages of 4 KB are faulted in for each call",
        measured=("recycled output",),
    ),
    Expected(
        "clone of 64 MB",
        "aten::clone",
        "f32[4096,4096]",
        (ALLOCATION,),
        "the same",
        measured=("recycled output",),
    ),
    Expected(
        "embedding backward, 32,000 words",
        "aten::embedding_dense_backward",
        "f32[4096,512] i64[4096] num_weights=32000 padding_idx=-1 scale_grad_by_freq=False",
        (ALLOCATION,),
        "64 MB of zeros, freshly faulted, for 8 MB of gradient: 71 % of the time elsewhere",
        values='[null, {"lowest": 0, "highest": 31999, "distinct": 0.94}]',
    ),
    Expected(
        "outer products into 64 MB",
        "aten::bmm",
        "f32[64,512,1] f32[64,1,512]",
        (ALLOCATION,),
        "one multiply-add for each freshly faulted element",
    ),
)

# On 2 threads, but no faster than on one.
SERIALS = (
    Expected(
        "bernoulli_ on 2 threads",
        "aten::bernoulli_.float",
        "f32[1048576] p=0.9",
        (),
        "one generator makes one sequence of numbers: 1.01x elsewhere",
        threads=2,
        modifiers=SERIAL,
    ),
    Expected(
        "normal_ on 2 threads",
        "aten::normal_",
        "f32[1048576] mean=0.0 std=1.0",
        (),
        "the same: 0.98x elsewhere",
        threads=2,
        modifiers=SERIAL,
    ),
    Expected(
        "copy_ of a transposed matrix on 2 threads",
        "aten::copy_",
        "f32[2048,2048] f32[2048,2048]{1,2048} non_blocking=False",
        (),
        "its kernel for transposed matrices has no threads: 1.01x elsewhere",
        threads=2,
        modifiers=SERIAL,
    ),
    Expected(
        "embedding backward, small vocabulary, on 2 threads",
        "aten::embedding_dense_backward",
        "f32[4096,512] i64[4096] num_weights=1000 padding_idx=-1 scale_grad_by_freq=False",
        (),
        "threads share out the words by 1000: 1.03x elsewhere",
        threads=2,
        values='[null, {"lowest": 0, "highest": 999, "distinct": 0.24}]',
        modifiers=SERIAL,
    ),
    Expected(
        "cumsum of one row on 2 threads",
        "aten::cumsum",
        "f32[1,4194304] dim=1",
        (),
        "threads share out rows, and there is one",
        threads=2,
        modifiers=SERIAL,
    ),
    Expected(
        "index_put_ accumulating, on 2 threads",
        "aten::_index_put_impl_",
        "f32[32000,512] (i64[4096]) f32[4096,512] accumulate=True unsafe=False",
        (),
        "atomic additions: 0.48x elsewhere",
        threads=2,
        values='[null, {"lowest": 0, "highest": 31999, "distinct": 0.94}, null]',
        modifiers=SERIAL,
    ),
)

# On 2 threads and nearly twice as fast, so none of these modifiers.
PARALLELS = (
    Expected(
        "mm 1024³ on 2 threads",
        "aten::mm",
        "f32[1024,1024] f32[1024,1024]",
        (COMPUTE,),
        "1.82x elsewhere",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
    Expected(
        "bmm 8x512³ on 2 threads",
        "aten::bmm",
        "f32[8,512,512] f32[8,512,512]",
        (COMPUTE,),
        "1.97x elsewhere",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
    Expected(
        "conv 3x3 on 2 threads",
        "aten::mkldnn_convolution",
        f"f32[8,64,56,56] f32[64,64,3,3] - {CONVOLUTION} groups=1",
        (COMPUTE,),
        "1.92x elsewhere",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
    Expected(
        "layer norm backward on 2 threads",
        "aten::native_layer_norm_backward",
        "f32[4096,1024] f32[4096,1024] normalized_shape=(1024) f32[4096,1] f32[4096,1] f32[1024] f32[1024] "
        + NORM,
        (),
        "was a sequential kernel once; 1.82x elsewhere today",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
    Expected(
        "softmax on 2 threads",
        "aten::_softmax",
        "f32[64,256,256] dim=-1 half_to_float=False",
        (),
        "rows are shared out: 1.89x elsewhere",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
    Expected(
        "div by a transposed matrix on 2 threads",
        "aten::div.Tensor",
        "f32[2048,2048] f32[2048,2048]{1,2048}",
        SLOW,
        "slow, and yet parallel: 1.98x elsewhere",
        threads=2,
        never=SERIAL,
        measured=("threads",),
    ),
)

# What a rule of thumb would claim but a measurement must not; and calls without a work model.
HONEST = (
    Expected(
        "bmm 256x13³ f64",
        "aten::bmm",
        "f64[256,13,13] f64[256,13,13]",
        (),
        "padding 13 to 16 makes it slower: 0.74x elsewhere",
        never=("shape-bound",),
        measured=("padded",),
    ),
    Expected(
        "grid sampling",
        "aten::grid_sampler_2d",
        "f32[4,16,64,64] f32[4,64,64,2] interpolation_mode=0 padding_mode=0 align_corners=False",
        (UNJUDGED,),
        "what it reads depends on the grid: there is no model",
    ),
)
