"""Matrix products of linear layers, `mm` and `addmm`: forward, gradients, and shapes with a short side."""

from __future__ import annotations

from benchmarks.operators.case import Case

CASES = (
    Case("1024³", "aten::mm", "f32[1024,1024] f32[1024,1024]", "Square and large: what GEMMs are tuned for."),
    Case("1024³ f64", "aten::mm", "f64[1024,1024] f64[1024,1024]", "Half as many elements per vector."),
    Case(
        "1024³ bf16",
        "aten::mm",
        "bf16[1024,1024] bf16[1024,1024]",
        "Some processors have instructions for it.",
    ),
    Case(
        "transposed",
        "aten::mm",
        "f32[1024,1024] f32[1024,1024]{1,1024}",
        "A GEMM packs its operands: a transposed one costs nothing.",
    ),
    Case(
        "layer",
        "aten::addmm",
        "f32[1024] f32[2048,1024] f32[1024,1024]{1,1024} beta=1 alpha=1",
        "nn.Linear: the weight is transposed, the bias one row.",
    ),
    Case(
        "weight gradient",
        "aten::mm",
        "f32[1024,2048]{1,1024} f32[2048,1024]",
        "The first operand is transposed: packed like any other.",
    ),
    Case("4096x4096x4096", "aten::mm", "f32[4096,4096] f32[4096,4096]", "Each float is used 4096 times."),
    Case(
        "4096x4096x13",
        "aten::mm",
        "f32[4096,4096] f32[4096,13]",
        "64 MB are read for 13 multiply-adds a float: memory decides, and 13 columns do not fill a block.",
    ),
    Case("4096x13x4096", "aten::mm", "f32[4096,13] f32[13,4096]", "A result of 64 MB in new pages."),
    Case("gemv", "aten::mm", "f32[1,4096] f32[4096,4096]", "One multiply-add for each weight: only reading."),
    Case("8³", "aten::mm", "f32[8,8] f32[8,8]", "512 multiply-adds: the call costs more than the work."),
    Case(
        "classifier",
        "aten::addmm",
        "f32[8] f32[2048,256] f32[256,8]{1,256} beta=1 alpha=1",
        "Eight columns: half a vector of AVX-512.",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("mm", __doc__, CASES)
