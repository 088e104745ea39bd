"""Decompositions of matrices that blocked algorithms do mostly by matrix products.

The operations are those of the textbook's algorithms without lower terms: Golub and Van Loan, Matrix
Computations, 4th edition, 3.2.4 (LU), 4.2.5 (Cholesky), 5.2.2 (QR); LAPACK Working Note 41, appendix C
(inverse, solutions with triangles). Singular values, eigenvalues and Fourier transforms have no model: half
of their work or all of it is no matrix product, and no reference here does such work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from perfprobe.models.work.call import Call, Model, Work, least
from perfprobe.models.work.touched import Operand, require

_Count = Callable[[int, int], float]  # operations, by rows and columns
_Sizes = Callable[[int, int], "Sequence[tuple[int, ...]]"]  # of results, by rows and columns


def _decomposed(count: _Count, results: _Sizes) -> Model:
    """Reads matrices [..., m, n]; writes results of the same dtype."""

    def work(call: Call) -> Work:
        matrix = call.tensor(0)
        require(len(matrix.sizes) >= 2)
        *batch, rows, columns = matrix.sizes
        made = [Operand(matrix.dtype, (*batch, *sizes)) for sizes in results(rows, columns)]
        flops = round(prod(batch) * count(rows, columns))
        return least([matrix], made, flops=flops, dtype=matrix.dtype, is_product=True)

    return work


def _qr(call: Call) -> Work:
    """Without Q it is half of the work."""
    mode = (call.value("mode") or "reduced").strip("\"'")
    require(mode in ("reduced", "r"))
    both = mode == "reduced"
    model = _decomposed(
        lambda m, n: (1 + both) * _reflections(m, n),
        lambda m, n: [(min(m, n), n), (m, min(m, n) if both else 0)],
    )
    return model(call)


def _reflections(m: int, n: int) -> float:
    """Householder's reflections of a matrix, from its longer side."""
    m, n = max(m, n), min(m, n)
    return 2 * m * n * n - 2 * n**3 / 3


def _solved(call: Call) -> Work:
    """`linalg_solve_triangular(A, B)`: n additions and products for each element of B."""
    matrix, right = call.tensor(0), call.tensor(1)
    require(len(matrix.sizes) >= 2 and len(right.sizes) >= 2)
    flops = right.count * matrix.sizes[-1]
    output = Operand(right.dtype, right.sizes)
    return least([matrix, right], [output], flops=flops, dtype=right.dtype, is_product=True)


def _solve(call: Call) -> Work:
    """`_linalg_solve_ex(A, B)`: a LU decomposition, then two triangles."""
    matrix, right = call.tensor(0), call.tensor(1)
    require(len(matrix.sizes) >= 2 and matrix.sizes[-1] == matrix.sizes[-2])
    *batch, n, _ = matrix.sizes
    flops = round(prod(batch) * _lu(n, n)) + 2 * n * right.count
    output = Operand(right.dtype, right.sizes)
    return least([matrix, right], [output], flops=flops, dtype=right.dtype, is_product=True)


def _lu(m: int, n: int) -> float:
    small = min(m, n)
    return 2 * (m * n * small - (m + n) * small * small / 2 + small**3 / 3)


MODELS: dict[str, Model] = {
    "linalg_cholesky_ex": _decomposed(lambda _, n: n**3 / 3, lambda m, n: [(m, n)]),
    "linalg_lu_factor_ex": _decomposed(_lu, lambda m, n: [(m, n)]),
    "linalg_inv_ex": _decomposed(lambda _, n: 2 * n**3, lambda m, n: [(m, n)]),
    "_linalg_det": _decomposed(_lu, lambda m, n: [(m, n), ()]),
    "linalg_qr": _qr,
    "geqrf": _decomposed(_reflections, lambda m, n: [(m, n), (min(m, n),)]),
    "linalg_solve_triangular": _solved,
    "_linalg_solve_ex": _solve,
}
