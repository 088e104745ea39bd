"""Sums, counts and spreads.

Sources: ATen/native/cpu/ReduceOpsKernel.cpp (sums of bool are copied to int64 first; the reductions of bool
and Welford's algorithm of `var` are not vectorised), each measured by `python -m benchmarks.equivalents`.
"""

from __future__ import annotations

from math import prod
from typing import Any

from perfprobe.bench.equivalents.form import Form, axis, floating

_SHORT = 16  # elements of a row; above, `sum` is as fast as a product


def _is_bool(x: Any, *_: Any, **_kwargs: Any) -> bool:
    return str(x.dtype) == "torch.bool"


def _is_dense_bool(x: Any, *_: Any, **_kwargs: Any) -> bool:
    return _is_bool(x) and x.is_contiguous() and x.numel() > 0


def _any_of(torch: Any, x: Any, dim: int, keepdim: bool = False) -> Any:
    return x.view(torch.uint8).amax(dim, keepdim).bool()


def _all_of(torch: Any, x: Any, dim: int, keepdim: bool = False) -> Any:
    return x.view(torch.uint8).amin(dim, keepdim).bool()


def _dims(x: Any, dim: Any) -> list[int]:
    return sorted(axis(x, each) for each in (dim or range(x.dim())))


def _has_short_rows(x: Any, dim: Any, *_: Any, dtype: Any = None, **_kwargs: Any) -> bool:
    is_last = x.dim() >= 2 and _dims(x, dim) == [x.dim() - 1]
    short = is_last and 1 < x.shape[-1] <= _SHORT
    return short and floating(x) and x.is_contiguous() and dtype in (None, x.dtype)


def _product(torch: Any, x: Any, value: float, keepdim: bool) -> Any:
    row = torch.full((x.shape[-1],), value, dtype=x.dtype)
    found = torch.mv(x.flatten(0, -2), row).view(x.shape[:-1])
    return found.unsqueeze(-1) if keepdim else found


def _sum(torch: Any, x: Any, _dim: Any, keepdim: bool = False, **_kwargs: Any) -> Any:
    return _product(torch, x, 1.0, keepdim)


def _mean(torch: Any, x: Any, _dim: Any, keepdim: bool = False, **_kwargs: Any) -> Any:
    return _product(torch, x, 1.0 / x.shape[-1], keepdim)


def _spreads(x: Any, _dim: Any = None, *, correction: Any = None, **_kwargs: Any) -> bool:
    return floating(x) and not (correction or 1) % 1


def _var(_torch: Any, x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x, dim)
    number = prod(x.shape[each] for each in dims)
    squares = (x - x.mean(dims, keepdim=True)).square_().sum(dims, keepdim=keepdim)
    return squares / (number - (1 if correction is None else correction))


def _std(torch: Any, x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return _var(torch, x, dim, correction=correction, keepdim=keepdim).sqrt_()


FORMS = (
    Form(
        operators=("aten::sum",),
        words="torch.count_nonzero(x)",
        fits=lambda x, dtype=None: _is_bool(x) and str(dtype) in ("None", "torch.int64"),
        call=lambda torch, x, **_: torch.count_nonzero(x),
    ),
    Form(
        operators=("aten::any",),
        words="x.view(torch.uint8).max().bool()",
        fits=_is_dense_bool,
        call=lambda torch, x: x.view(torch.uint8).max().bool(),
    ),
    Form(
        operators=("aten::all",),
        words="x.view(torch.uint8).min().bool()",
        fits=_is_dense_bool,
        call=lambda torch, x: x.view(torch.uint8).min().bool(),
    ),
    Form(
        operators=("aten::any.dim",),
        words="x.view(torch.uint8).amax(dim).bool()",
        fits=_is_dense_bool,
        call=_any_of,
    ),
    Form(
        operators=("aten::all.dim",),
        words="x.view(torch.uint8).amin(dim).bool()",
        fits=_is_dense_bool,
        call=_all_of,
    ),
    Form(
        operators=("aten::sum.dim_IntList",),
        words="x @ torch.ones(x.shape[-1])",
        fits=_has_short_rows,
        call=_sum,
    ),
    Form(
        operators=("aten::mean.dim",),
        words="x @ torch.full((x.shape[-1],), 1 / x.shape[-1])",
        fits=_has_short_rows,
        call=_mean,
    ),
    Form(
        operators=("aten::var.correction",),
        words="(x - x.mean(dim, keepdim=True)).square().sum(dim) / (n - 1)",
        fits=_spreads,
        call=_var,
    ),
    Form(
        operators=("aten::std.correction",),
        words="((x - x.mean(dim, keepdim=True)).square().sum(dim) / (n - 1)).sqrt()",
        fits=_spreads,
        call=_std,
    ),
)
