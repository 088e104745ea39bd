"""Real calls that select, search, sample or decompose."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.models.calls import Case, aten, below, case, f


def selecting() -> Iterator[Case]:
    a, mask, row, places = f(6, 16), f(6, 16) > 1, f(16).sort()[0], below(6, 9)
    yield case(aten.topk, a, 3)
    yield case(aten.topk, a, 2, 0)
    yield case(aten.kthvalue, a, 3)
    yield case(aten.median, a)
    yield case(aten.median.dim, a, 1)
    yield case(aten.nonzero, mask, writes=0)
    yield case(aten.masked_select, a, mask, writes=0)
    yield case(aten._unique2, places, writes=0)
    yield case(aten.bincount, places, writes=0)
    yield case(aten.searchsorted.Tensor, row, a)
    yield case(aten.bucketize.Tensor, a, row, out_int32=True)
    bags = torch.tensor([0, 4, 5])
    yield case(aten._embedding_bag, f(6, 16), places, bags, reads=72 + 24 + 384, writes=3 * 64)
    grid = f(2, 5, 5, 2) - 1
    yield case(aten.grid_sampler_2d, f(2, 3, 8, 8), grid, 0, 0, False)
    yield case(aten.grid_sampler_2d, f(2, 3, 8, 8), grid, 1, 0, False, reads=400 + 4 * 150)


def decompositions() -> Iterator[Case]:
    square = f(3, 5, 5)
    positive = square @ square.mT + torch.eye(5)
    yield case(aten.linalg_cholesky_ex, positive, writes=300)
    yield case(aten.linalg_lu_factor_ex, square, writes=300)
    yield case(aten.linalg_inv_ex, square, writes=300)
    yield case(aten.linalg_qr, f(7, 5))
    yield case(aten.geqrf, f(7, 5))
    yield case(aten.linalg_solve_triangular, square.triu(), f(3, 5, 2), upper=True)
    yield case(aten._linalg_solve_ex, square, f(3, 5, 2), writes=120)


CASES = [*selecting(), *decompositions()]
