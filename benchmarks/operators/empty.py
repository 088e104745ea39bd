"""Memory without contents, and the cost of filling it: `empty` is cheap because it touches nothing."""

from __future__ import annotations

from benchmarks.operators.case import Case

_OPTIONS = "dtype=f32 layout=0 device=cpu"

CASES = (
    Case(
        "empty [16]", "aten::empty.memory_format", f"size=(16) {_OPTIONS}", "A call and a small allocation."
    ),
    Case(
        "empty 4 MB", "aten::empty.memory_format", f"size=(1048576) {_OPTIONS}", "Its pages are not touched."
    ),
    Case(
        "empty 64 MB",
        "aten::empty.memory_format",
        f"size=(16777216) {_OPTIONS}",
        "Maps and unmaps its memory.",
    ),
    Case("zeros 4 MB", "aten::zeros", "size=(1048576) device=cpu pin_memory=False", "Memory used before."),
    Case(
        "zeros 64 MB",
        "aten::zeros",
        "size=(16777216) device=cpu pin_memory=False",
        "New pages for every call.",
    ),
    Case("fill_", "aten::fill_.Scalar", "f32[4194304] value=1.0", "Pure writing."),
    Case("zero_", "aten::zero_", "f32[4194304]", "Pure writing."),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("empty", __doc__, CASES)
