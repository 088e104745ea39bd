"""Operations of decompositions, compared with counters in the textbook's loops."""

from __future__ import annotations

import pytest

from perfprobe.models.work import flops, work

ROWS, COLUMNS = 120, 90


def lu(n: int) -> int:
    return sum(1 + 2 * (n - k - 1) for k in range(n) for _ in range(k + 1, n))


def cholesky(n: int) -> int:
    return sum(1 + 2 * k for k in range(n) for _ in range(k, n))


def reflections(m: int, n: int) -> int:
    """Each reflection: a product with every column that is left, and its subtraction."""
    return sum(4 * (m - k) for k in range(n) for _ in range(k, n))


def inverse(n: int) -> int:
    """By Gauss and Jordan, in place."""
    return sum(2 * n for _ in range(n) for _ in range(n))


def triangle(n: int, right: int) -> int:
    return sum(1 + 2 * k for k in range(n)) * right


@pytest.mark.parametrize(
    ("operator", "signature", "counted"),
    [
        ("aten::linalg_lu_factor_ex", f"f32[{ROWS},{ROWS}] pivot=True", lu(ROWS)),
        ("aten::_linalg_det", f"f32[{ROWS},{ROWS}]", lu(ROWS)),
        ("aten::linalg_cholesky_ex", f"f32[3,{ROWS},{ROWS}] upper=False", 3 * cholesky(ROWS)),
        ("aten::linalg_inv_ex", f"f32[{ROWS},{ROWS}]", inverse(ROWS)),
        ("aten::linalg_qr", f'f32[{ROWS},{COLUMNS}] mode="r"', reflections(ROWS, COLUMNS)),
        ("aten::geqrf", f"f32[{ROWS},{COLUMNS}]", reflections(ROWS, COLUMNS)),
        ("aten::linalg_solve_triangular", f"f32[{ROWS},{ROWS}] f32[{ROWS},7] upper=True", triangle(ROWS, 7)),
        ("aten::_linalg_solve_ex", f"f32[{ROWS},{ROWS}] f32[{ROWS},7]", lu(ROWS) + 2 * triangle(ROWS, 7)),
    ],
)
def test_operations_are_those_of_the_loops(operator: str, signature: str, counted: int) -> None:
    found = work(operator, signature)
    assert found is not None
    assert found.flops == pytest.approx(counted, rel=0.05)
    assert flops(operator, signature) is None  # they are not added up: inner operators may do the work
