"""Computes how much memory a tensor takes, from its sizes and strides, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from perfprobe.bench.rebuild.recipe import TensorRecipe
from perfprobe.models.dtypes import ITEM_BYTES


def storage_bytes(tensor: TensorRecipe) -> int:
    """Returns the bytes that its elements span. Gaps count, repeated elements count once."""
    return span(tensor.sizes, tensor.strides) * ITEM_BYTES[tensor.dtype]


def seen_bytes(tensor: TensorRecipe) -> int:
    """Returns the bytes of a contiguous tensor of these sizes, as a result would take."""
    return prod(tensor.sizes) * ITEM_BYTES[tensor.dtype]


def span(sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """Returns the number of elements from the first to the last in memory, both included."""
    if strides is None or 0 in sizes:
        return prod(sizes)
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def overlaps(sizes: Sequence[int], strides: Sequence[int] | None) -> bool:
    """Whether elements may share memory. Also True for a few odd layouts whose elements do not."""
    if strides is None or 0 in sizes:
        return False
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False
