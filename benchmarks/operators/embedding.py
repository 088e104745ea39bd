"""Embedding and its backward: rows read by index, and added by index to a table of zeros."""

from __future__ import annotations

from benchmarks.operators.case import Case


def _indices(vocabulary: int, distinct: float) -> str:
    return f'[null, {{"lowest": 0, "highest": {vocabulary - 1}, "distinct": {distinct}}}]'


def _backward(vocabulary: int) -> str:
    return f"f32[4096,512] i64[4096] num_weights={vocabulary} padding_idx=-1 scale_grad_by_freq=False"


_FORWARD = "i64[4096] padding_idx=-1 scale_grad_by_freq=False sparse=False"

CASES = (
    Case("large", "aten::embedding", f"f32[32000,512] {_FORWARD}", "Rows of 2 KB.", _indices(32000, 0.94)),
    Case(
        "narrow", "aten::embedding", f"f32[32000,16] {_FORWARD}", "Rows of one line.", _indices(32000, 0.94)
    ),
    Case(
        "small", "aten::embedding", f"f32[22,256] {_FORWARD}", "The table stays in L1.", _indices(22, 0.005)
    ),
    Case(
        "backward, large",
        "aten::embedding_dense_backward",
        _backward(32000),
        "64 MB of zeros in new pages for 8 MB of gradient.",
        _indices(32000, 0.94),
    ),
    Case(
        "backward, small",
        "aten::embedding_dense_backward",
        _backward(1000),
        "Each thread takes 1000 words, so one thread has all of them.",
        _indices(1000, 0.24),
    ),
    Case(
        "backward, residues",
        "aten::embedding_dense_backward",
        _backward(22),
        "All additions go to 22 rows.",
        _indices(22, 0.005),
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("embedding", __doc__, CASES)
