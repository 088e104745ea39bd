"""Batched matrix products as in attention. In a good shape all sides are long.

A product of MxK by KxN does 2MNK operations on MK + KN + MN elements: each element is used as often as the
shortest side is long. If a side is short, memory limits and not arithmetic. If all are short, the set-up of
each product does.
"""

from __future__ import annotations

from benchmarks.operators.case import Case

CASES = (
    Case("square", "aten::bmm", "f32[8,512,512] f32[8,512,512]", "Long sides: each float is used 512 times."),
    Case(
        "scores",
        "aten::bmm",
        "f32[64,128,64] f32[64,64,128]{8192,1,64}",
        "Queries by keys: 64 long at the shortest, and the transposed keys are packed like any others.",
    ),
    Case(
        "weighted values",
        "aten::bmm",
        "f32[64,128,128] f32[64,128,64]",
        "Weights by values: the shortest side is 64 here too.",
    ),
    Case(
        "4096x4096",
        "aten::bmm",
        "f32[1,4096,4096] f32[1,4096,4096]",
        "The best shape: each float is used 4096 times, blocks of it from the cache.",
    ),
    Case(
        "4096x13",
        "aten::bmm",
        "f32[1,4096,4096] f32[1,4096,13]",
        "The 64 MB of the first operand are read for 13 multiply-adds a float: memory decides, and the "
        "GEMM's blocks of 16 or more columns are not filled.",
    ),
    Case(
        "K=13",
        "aten::bmm",
        "f32[64,512,13] f32[64,13,512]",
        "13 multiply-adds for each float of a result of 64 MB, whose pages are new each time.",
    ),
    Case(
        "K=16",
        "aten::bmm",
        "f32[64,512,16] f32[64,16,512]",
        "Compare with K=13: writing the result takes the time.",
    ),
    Case("N=13", "aten::bmm", "f32[4,1024,1024] f32[4,1024,13]", "A narrow result: vectors are not filled."),
    Case("N=16", "aten::bmm", "f32[4,1024,1024] f32[4,1024,16]", "Compare with N=13: one whole vector."),
    Case("tiny", "aten::bmm", "f32[4096,8,8] f32[4096,8,8]", "512 multiply-adds for each set-up of a GEMM."),
    Case("13³ f64", "aten::bmm", "f64[256,13,13] f64[256,13,13]", "Padding it to 16 looks like a remedy."),
    Case(
        "square bf16",
        "aten::bmm",
        "bf16[8,512,512] bf16[8,512,512]",
        "Half the bytes; some processors have special units.",
    ),
    Case(
        "one head's step",
        "aten::bmm",
        "f32[32,1,64] f32[32,64,1024]",
        "Decoding: each float of the keys is read for one multiply-add.",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("bmm", __doc__, CASES)
