"""Sorting, selecting, extremes and distinct values.

Sources: numpy/_core/src/npysort (x86-simd-sort: vectorised quicksort and quickselect). In ATen/native:
Sorting.cpp (sorts values with their indices, compares one by one), ReduceOpsKernel.cpp (`max` with indices is
not vectorised, `amax` is), Unique.cpp. Each measured by `python -m benchmarks.equivalents`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.bench.equivalents.form import NO_GRADIENT, NOT_NEGATIVE, VALUES_ONLY, Form, axis

_NUMBERS = ("torch.float32", "torch.float64", "torch.int64", "torch.int32")
_WIDEST = 1 << 22  # distinct values: counting more takes longer than sorting
_FEW = 64  # selected of many


def _is_on_cpu(x: Any, *_: Any, **_kwargs: Any) -> bool:
    return x.device.type == "cpu" and str(x.dtype) in _NUMBERS and x.dim() > 0 and x.numel() > 0


def _sorted(torch: Any, x: Any, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    found = torch.from_numpy(np.sort(x.detach().numpy(), axis=dim))
    return found.flip(dim) if descending else found


def _median(torch: Any, x: Any, dim: int = 0, keepdim: bool = False) -> Any:
    return _kth(torch, x, (x.shape[axis(x, dim)] + 1) // 2, dim, keepdim)


def _kth(torch: Any, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    found = np.partition(x.detach().numpy(), k - 1, axis=dim).take([k - 1], axis=dim)
    return torch.from_numpy(found if keepdim else found.squeeze(dim))


def _takes_many(x: Any, k: int, *_: Any, **_kwargs: Any) -> bool:
    return _is_on_cpu(x) and k > _FEW


def _takes_few(x: Any, k: int, dim: int = -1, *_: Any, **_kwargs: Any) -> bool:
    return _is_on_cpu(x) and 0 < k <= _FEW < x.shape[axis(x, dim)]


def _top(torch: Any, x: Any, k: int, dim: int = -1, largest: bool = True, _sorted: bool = True) -> Any:
    values = np.sort(x.detach().numpy(), axis=dim)
    found = torch.from_numpy(values).narrow(dim, values.shape[dim] - k if largest else 0, k)
    return found.flip(dim) if largest else found.clone()


def _few_top(torch: Any, x: Any, k: int, dim: int = -1, largest: bool = True, _sorted: bool = True) -> Any:
    length = x.shape[axis(x, dim)]
    values = torch.from_numpy(np.partition(x.detach().numpy(), length - k if largest else k - 1, axis=dim))
    chosen = values.narrow(dim, length - k if largest else 0, k)
    return chosen.sort(dim, descending=largest)[0]


def _extreme(name: str) -> Any:
    def call(torch: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        found = getattr(np, name)(x.detach().numpy(), axis=dim, keepdims=keepdim)
        return torch.from_numpy(np.asarray(found))

    return call


def _is_counted(x: Any, _sorted: bool = True, inverse: bool = False, counts: bool = False) -> bool:
    if str(x.dtype) not in ("torch.int64", "torch.int32") or x.numel() == 0 or inverse or counts:
        return False
    return bool(x.min() >= 0) and bool(x.max() < _WIDEST)


FORMS = (
    Form(
        operators=("aten::sort", "aten::sort.stable"),
        words="torch.from_numpy(np.sort(x.numpy()))",
        cautions=(VALUES_ONLY, NO_GRADIENT),
        fits=_is_on_cpu,
        call=_sorted,
        part=0,
    ),
    Form(
        operators=("aten::median",),
        words="torch.from_numpy(np.partition(x.numpy(), k))[k], k = (n - 1) // 2",
        cautions=(NO_GRADIENT,),
        fits=_is_on_cpu,
        call=lambda torch, x: _median(torch, x.flatten()),
    ),
    Form(
        operators=("aten::median.dim",),
        words="torch.from_numpy(np.partition(x.numpy(), k, dim)).select(dim, k), k = (n - 1) // 2",
        cautions=(VALUES_ONLY, NO_GRADIENT),
        fits=_is_on_cpu,
        call=_median,
        part=0,
    ),
    Form(
        operators=("aten::kthvalue",),
        words="torch.from_numpy(np.partition(x.numpy(), k - 1, dim)).select(dim, k - 1)",
        cautions=(VALUES_ONLY, NO_GRADIENT),
        fits=_is_on_cpu,
        call=_kth,
        part=0,
    ),
    Form(
        operators=("aten::topk",),
        words="torch.from_numpy(np.sort(x.numpy())) and its last k",
        cautions=(VALUES_ONLY, NO_GRADIENT),
        fits=_takes_many,
        call=_top,
        part=0,
    ),
    Form(
        operators=("aten::topk",),
        words="torch.from_numpy(np.partition(x.numpy(), n - k)) and its last k, sorted",
        cautions=(VALUES_ONLY, NO_GRADIENT),
        fits=_takes_few,
        call=_few_top,
        part=0,
    ),
    *(
        Form(
            operators=(f"aten::{name}",),
            words=f"torch.from_numpy(np.{name}(x.numpy(), dim))",
            fits=_is_on_cpu,
            call=_extreme(name),
        )
        for name in ("argmax", "argmin")
    ),
    Form(
        operators=("aten::max.dim",),
        words="x.amax(dim)",
        cautions=(VALUES_ONLY,),
        call=lambda _torch, x, dim, keepdim=False: x.amax(dim, keepdim),
        part=0,
    ),
    Form(
        operators=("aten::min.dim",),
        words="x.amin(dim)",
        cautions=(VALUES_ONLY,),
        call=lambda _torch, x, dim, keepdim=False: x.amin(dim, keepdim),
        part=0,
    ),
    Form(
        operators=("aten::_unique2",),
        words="torch.bincount(x).nonzero().squeeze(1)",
        cautions=(NOT_NEGATIVE, "small numbers"),
        fits=_is_counted,
        call=lambda _torch, x, *_: x.flatten().bincount().nonzero().squeeze(1).to(x.dtype),
        part=0,
    ),
)
