"""Operators that do little more than read and write memory."""

from __future__ import annotations

from benchmarks.expected.expectation import MEMORY, SERIAL, Expected

STREAMS = (
    Expected(
        "sub",
        "aten::sub.Tensor",
        "f32[1536,2048] f32[1536,2048] alpha=1",
        (MEMORY,),
        "one difference for 12 bytes",
    ),
    Expected("neg", "aten::neg", "f32[4194304]", (MEMORY,), "one sign for 8 bytes"),
    Expected("abs", "aten::abs", "f32[3000000]", (MEMORY,), "one sign for 8 bytes"),
    Expected("relu of an image", "aten::relu", "f32[8,64,96,96]", (MEMORY,), "one comparison for 8 bytes"),
    Expected(
        "add a row", "aten::add.Tensor", "f32[4096,1024] f32[1024] alpha=1", (MEMORY,), "the row stays in L1"
    ),
    Expected(
        "mul f64", "aten::mul.Tensor", "f64[2097152] f64[2097152]", (MEMORY,), "one product for 24 bytes"
    ),
    Expected(
        "add of integers", "aten::add.Tensor", "i64[2097152] i64[2097152] alpha=1", (MEMORY,), "as of f64"
    ),
    Expected(
        "copy_ f32 to f64",
        "aten::copy_",
        "f64[2097152] f32[2097152] non_blocking=False",
        (MEMORY,),
        "one conversion for 12 bytes",
    ),
    Expected("zero_", "aten::zero_", "f32[4194304]", (MEMORY,), "it only writes"),
    Expected("sum of all", "aten::sum", "f32[4194304]", (MEMORY,), "reads along memory"),
    Expected(
        "mean of rows",
        "aten::mean.dim",
        "f32[2048,2048] dim=(1) keepdim=False",
        (MEMORY,),
        "reads along memory",
    ),
    Expected(
        "largest of rows",
        "aten::amax",
        "f32[2048,2048] dim=(1) keepdim=False",
        (MEMORY,),
        "reads along memory",
    ),
    Expected(
        "mean over pixels",
        "aten::mean.dim",
        "f32[32,256,28,28] dim=(2,3) keepdim=True",
        (MEMORY,),
        "rows of 784 contiguous floats",
    ),
    Expected(
        "cat of three blocks",
        "aten::cat",
        "(f32[512,2048],f32[512,2048],f32[512,2048]) dim=0",
        (MEMORY,),
        "three plain copies",
    ),
    Expected(
        "clone, channels last",
        "aten::clone",
        "f32[8,64,56,56]{200704,1,3584,64}",
        (MEMORY,),
        "dense: the order of its dimensions does not matter",
    ),
    Expected("mv 2048", "aten::mv", "f32[2048,2048] f32[2048]", (MEMORY,), "one multiply-add for 4 bytes"),
    Expected("dot", "aten::dot", "f32[4194304] f32[4194304]", (MEMORY,), "one multiply-add for 8 bytes"),
    Expected(
        "addcmul_", "aten::addcmul_", "f32[2097152] f32[2097152] f32[2097152] value=1", (MEMORY,), "16 bytes"
    ),
    Expected(
        "addcdiv_", "aten::addcdiv_", "f32[2097152] f32[2097152] f32[2097152] value=1", (MEMORY,), "16 bytes"
    ),
    Expected("clamp", "aten::clamp", "f32[4194304] min=-1 max=1", (MEMORY,), "two comparisons for 8 bytes"),
    Expected(
        "square", "aten::pow.Tensor_Scalar", "f32[4194304] exponent=2", (MEMORY,), "a product, not a power"
    ),
    Expected(
        "rows by random index",
        "aten::index_select",
        "f32[8192,1024] dim=0 i64[4096]",
        (MEMORY,),
        "rows of 4 KB are copied whole",
        values='[null, {"lowest": 0, "highest": 8191, "distinct": 0.8}]',
    ),
    Expected(
        "embedding of GPT-2",
        "aten::embedding",
        "f32[50257,768] i64[2048] padding_idx=-1 scale_grad_by_freq=False sparse=False",
        (MEMORY,),
        "rows of 3 KB are copied whole",
        values='[null, {"lowest": 0, "highest": 50256, "distinct": 0.98}]',
    ),
    Expected(
        "batch norm of evaluation",
        "aten::native_batch_norm",
        "f32[16,64,56,56] f32[64] f32[64] f32[64] f32[64] training=False momentum=0.1 eps=1e-05",
        (MEMORY,),
        "one multiply-add for 8 bytes",
    ),
    Expected(
        "add on 2 threads",
        "aten::add.Tensor",
        "f32[2048,1536] f32[2048,1536] alpha=1",
        (MEMORY,),
        "halves of one array",
        threads=2,
        never=SERIAL,
    ),
)
