"""Operators whose kernels are below the limits because of layout, short rows, or element-by-element work."""

from __future__ import annotations

from benchmarks.expected.expectation import SERIAL, SLOW, Expected

SLOW_CALLS = (
    Expected(
        "tanh", "aten::tanh", "f32[1000000]", SLOW, "a precise function, ten times the work of a bound one"
    ),
    Expected("log in L2", "aten::log", "f32[65536]", SLOW, "the general function, with all its branches"),
    Expected("erf in L2", "aten::erf", "f32[65536]", SLOW, "as log"),
    Expected("gelu by tanh", "aten::gelu", 'f32[1000000] approximate="tanh"', SLOW, "tanh and more"),
    Expected(
        "softmax of rows of 16",
        "aten::_softmax",
        "f32[65536,16] dim=-1 half_to_float=False",
        SLOW,
        "set-up for each row",
    ),
    Expected(
        "layer norm of rows of 16",
        "aten::native_layer_norm",
        "f32[65536,16] normalized_shape=(16) f32[16] f32[16] eps=1e-05",
        SLOW,
        "set-up for each row",
    ),
    Expected(
        "sum of rows of 8",
        "aten::sum.dim_IntList",
        "f32[524288,8] dim=(1) keepdim=False",
        SLOW,
        "shorter than a vector",
    ),
    Expected(
        "max pooling 3x3",
        "aten::max_pool2d_with_indices",
        "f32[8,64,112,112] kernel_size=(3,3) stride=(2,2) padding=(1,1) dilation=(1,1) ceil_mode=False",
        SLOW,
        "point by point, with an index for each",
    ),
    Expected(
        "add of a transposed matrix",
        "aten::add.Tensor",
        "f32[1024,1024] f32[1024,1024]{1,1024} alpha=1",
        SLOW,
        "one operand is walked across its lines",
        modifiers=("layout-bound",),
    ),
    Expected(
        "copy_ into channels first",
        "aten::copy_",
        "f32[16,64,56,56] f32[16,64,56,56]{200704,1,3584,64} non_blocking=False",
        SLOW,
        "each float is 256 bytes from the next",
    ),
    Expected(
        "where with half of a random mask",
        "aten::where.self",
        "bool[2048,1024] f32[2048,1024] f32[2048,1024]",
        SLOW,
        "a branch for each element, half of them mispredicted",
        values='[{"true": 0.5}, null, null]',
    ),
    Expected(
        "cumsum of rows",
        "aten::cumsum",
        "f32[4096,512] dim=1",
        SLOW,
        "each sum waits for the one before",
    ),
    Expected(
        "argmax of rows", "aten::argmax", "f32[4096,512] dim=1 keepdim=False", SLOW, "element by element"
    ),
    Expected(
        "index_add_ of short rows",
        "aten::index_add_",
        "f32[10000,16] dim=0 i64[50000] f32[50000,16] alpha=1",
        SLOW,
        "a call for each row of 64 bytes",
        values='[null, {"lowest": 0, "highest": 9999, "distinct": 1.0}, null]',
    ),
    Expected(
        "cumsum of one row on 2 threads",
        "aten::cumsum",
        "f32[2000000] dim=0",
        (),
        "threads share out rows, and there is one",
        threads=2,
        modifiers=SERIAL,
    ),
    Expected(
        "copy_ of a small transposed matrix on 2 threads",
        "aten::copy_",
        "f32[1500,1500] f32[1500,1500]{1,1500} non_blocking=False",
        (),
        "the kernel for transposed matrices has no threads",
        threads=2,
        modifiers=SERIAL,
    ),
)
