"""Sums along and across rows in memory: the gradients of biases and of broadcast tensors."""

from __future__ import annotations

from benchmarks.operators.case import Case

_SUM = "aten::sum.dim_IntList"

CASES = (
    Case("rows", _SUM, "f32[4096,1024] dim=(1) keepdim=False", "Along rows: only reading."),
    Case("columns", _SUM, "f32[4096,1024] dim=(0) keepdim=False", "Across rows: a row of sums stays in L1."),
    Case("all", _SUM, "f32[4194304] dim=() keepdim=False", "One number."),
    Case("rows of 4", _SUM, "f32[1048576,4] dim=(1) keepdim=False", "Shorter than a vector."),
    Case("few columns", _SUM, "f32[1048576,4] dim=(0) keepdim=False", "A row of sums fills no vector."),
    Case("bias gradient", _SUM, "f32[16,256,128] dim=(0,2) keepdim=False", "Two dimensions, not neighbours."),
    Case("tiny", _SUM, "f32[8] dim=(0) keepdim=False", "Only the cost of the call."),
    Case(
        "expanded", _SUM, "f32[2048,2048]{0,0} dim=(0) keepdim=False", "One float, read four million times."
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("sums", __doc__, CASES)
