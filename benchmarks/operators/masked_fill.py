"""`masked_fill_` and `where`: the cost of a mask depends on its values."""

from __future__ import annotations

from benchmarks.operators.case import Case

_SCORES = "f32[64,256,256]"
_FILL = "aten::masked_fill_.Scalar"


def _true(share: float) -> str:
    return f'[null, {{"true": {share}}}]'


CASES = (
    Case("half", _FILL, f"{_SCORES} bool[64,256,256] value=-1e+09", "Each element is a guess.", _true(0.5)),
    Case("few", _FILL, f"{_SCORES} bool[64,256,256] value=-1e+09", "Guessed right.", _true(0.001)),
    Case(
        "padding", _FILL, f"{_SCORES} bool[64,256,256]{{256,0,1}} value=-1e+09", "A row for all.", _true(0.1)
    ),
    Case(
        "in L2",
        _FILL,
        "f32[256,256] bool[256,256] value=-1e+09",
        "Branch misses cost, not memory.",
        _true(0.5),
    ),
    Case(
        "where",
        "aten::where.self",
        f"bool[64,256,256] {_SCORES} {_SCORES}",
        "The same choice, out of place.",
        '[{"true": 0.5}, null, null]',
    ),
)

if __name__ == "__main__":
    from benchmarks.operators.alone import main

    main("masked_fill", __doc__, CASES)
