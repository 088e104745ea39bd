"""Copies: `copy_`, which `contiguous`, `reshape`, `to` and `clone` call, and `cat`.

A copy is as fast as its longest contiguous runs in both tensors allow.
"""

from __future__ import annotations

from benchmarks.operators.case import Case

_SQUARE = "f32[2048,2048]"

CASES = (
    Case("contiguous", "aten::copy_", f"{_SQUARE} {_SQUARE} non_blocking=False", "One run: memory's limit."),
    Case(
        "heads",
        "aten::copy_",
        "f32[16,8,256,64] f32[16,8,256,64]{131072,64,512,1} non_blocking=False",
        "Heads and positions swapped: runs of 64 floats are copied whole.",
    ),
    Case(
        "transposed",
        "aten::copy_",
        f"{_SQUARE} {_SQUARE}{{1,2048}} non_blocking=False",
        "No neighbours stay neighbours; done in small blocks, by one thread.",
    ),
    Case(
        "transposed batch",
        "aten::copy_",
        "f32[16,256,512] f32[16,256,512]{131072,1,256} non_blocking=False",
        "As transposed, but without blocks, which exist for matrices only.",
    ),
    Case(
        "every sixteenth",
        "aten::copy_",
        "f32[262144] f32[262144]{16} non_blocking=False",
        "A line of 64 bytes is fetched for each float.",
    ),
    Case(
        "to channels last",
        "aten::copy_",
        "f32[8,64,56,56]{200704,1,3584,64} f32[8,64,56,56] non_blocking=False",
        "Swaps pixels and channels: a transposition for each image.",
    ),
    Case("broadcast", "aten::copy_", f"{_SQUARE} {_SQUARE}{{0,1}} non_blocking=False", "Only reads one row."),
    Case("from bf16", "aten::copy_", f"{_SQUARE} bf16[2048,2048] non_blocking=False", "Converts on the way."),
    Case("tiny", "aten::copy_", "f32[8] f32[8] non_blocking=False", "Only the cost of the call."),
    Case("clone", "aten::clone", _SQUARE, "A copy into reused memory."),
    Case(
        "clone of 64 MB", "aten::clone", "f32[4096,4096]", "A copy into new pages, which cost more than it."
    ),
    Case("cat", "aten::cat", "(f32[2048,1024],f32[2048,1024]) dim=1", "Runs of 4 KB are copied whole."),
    Case("cat of columns", "aten::cat", "(f32[262144,1],f32[262144,1]) dim=1", "Runs of one float."),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("copies", __doc__, CASES)
