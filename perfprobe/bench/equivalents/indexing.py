"""Elements chosen by index or mask, and sums along an axis that is not the last.

Sources: ATen/native/TensorAdvancedIndexing.cpp and cpu/IndexKernel.cpp (`index` computes an address for each
element, `index_select` copies rows), ReduceOps.cpp (`cumsum` walks along its axis, whatever the strides),
each measured by `python -m benchmarks.equivalents`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.bench.equivalents.form import Form, axis


def _indexed_axis(x: Any, indices: Any) -> int | None:
    """The only axis that is indexed, by a single row of numbers; None if there are others."""
    given = [at for at, index in enumerate(indices) if index is not None]
    if len(given) != 1 or len(indices) > x.dim():
        return None
    index = indices[given[0]]
    return given[0] if index.dim() == 1 and str(index.dtype) in ("torch.int64", "torch.int32") else None


def _has_row_of_numbers(x: Any, indices: Any) -> bool:
    at = _indexed_axis(x, indices)
    return at is not None and indices[at].numel() > 0 and bool(indices[at].min() >= 0)


def _selected(_torch: Any, x: Any, indices: Any) -> Any:
    at = _indexed_axis(x, indices) or 0
    return x.index_select(at, indices[at])


def _has_mask_of_rows(x: Any, indices: Any) -> bool:
    mask = indices[0]
    return (
        len(indices) == 1
        and mask is not None
        and str(mask.dtype) == "torch.bool"
        and mask.dim() == 1 < x.dim()
    )


def _chosen(_torch: Any, x: Any, indices: Any) -> Any:
    return x.index_select(0, indices[0].nonzero().squeeze(1))


def _is_mask(x: Any) -> bool:
    return x.dim() == 1 and str(x.dtype) == "torch.bool" and x.device.type == "cpu"


def _is_not_last(x: Any, dim: int, **_: Any) -> bool:
    return bool(x.dim() > 1 and axis(x, dim) != x.dim() - 1 and x.is_contiguous())


def _sums(_torch: Any, x: Any, dim: int, **given: Any) -> Any:
    return x.transpose(dim, -1).contiguous().cumsum(-1, **given).transpose(dim, -1)


FORMS = (
    Form(
        operators=("aten::index.Tensor",),
        words="x.index_select(dim, i)",
        cautions=("if no index is negative",),
        fits=_has_row_of_numbers,
        call=_selected,
    ),
    Form(
        operators=("aten::index.Tensor",),
        words="x.index_select(0, mask.nonzero().squeeze(1))",
        fits=_has_mask_of_rows,
        call=_chosen,
    ),
    Form(
        operators=("aten::nonzero",),
        words="torch.from_numpy(np.flatnonzero(x.numpy())).unsqueeze(1)",
        fits=_is_mask,
        call=lambda torch, x: torch.from_numpy(np.flatnonzero(x.numpy())).unsqueeze(1),
    ),
    Form(
        operators=("aten::cumsum",),
        words="x.transpose(dim, -1).contiguous().cumsum(-1).transpose(dim, -1)",
        fits=_is_not_last,
        call=_sums,
    ),
)
