"""`native_layer_norm` and its backward: passes over each row; backward also sums down the columns.

The backward was once a sequential kernel, which is why it is here.
"""

from __future__ import annotations

from benchmarks.operators.case import Case


def _backward(rows: int, width: int) -> str:
    x = f"f32[{rows},{width}]"
    saved = f"f32[{rows},1] f32[{rows},1] f32[{width}] f32[{width}]"
    return f"{x} {x} normalized_shape=({width}) {saved} output_mask=(True,True,True)"


def _forward(rows: int, width: int) -> str:
    return f"f32[{rows},{width}] normalized_shape=({width}) f32[{width}] f32[{width}] eps=1e-05"


CASES = (
    Case("wide", "aten::native_layer_norm", _forward(4096, 1024), "A row stays in L1 for both passes."),
    Case("narrow", "aten::native_layer_norm", _forward(65536, 64), "Set-up for each 256 bytes."),
    Case("rows of 8", "aten::native_layer_norm", _forward(65536, 8), "Set-up for each 32 bytes."),
    Case(
        "few long rows",
        "aten::native_layer_norm",
        _forward(16, 262144),
        "A row of 1 MB leaves L1 between passes.",
    ),
    Case(
        "backward, wide", "aten::native_layer_norm_backward", _backward(4096, 1024), "Each row is read twice."
    ),
    Case(
        "backward, narrow", "aten::native_layer_norm_backward", _backward(65536, 64), "Set-up for each row."
    ),
    Case(
        "backward, few long rows",
        "aten::native_layer_norm_backward",
        _backward(16, 262144),
        "Rows of 1 MB, and column sums of 1 MB for each thread.",
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("layer_norm", __doc__, CASES)
