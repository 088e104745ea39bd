"""How much memory a tensor takes, from its text, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from perfprobe.bench.rebuild.recipe import TensorRecipe
from perfprobe.models.dtypes import ITEM_BYTES


def storage_bytes(tensor: TensorRecipe) -> int:
    """What its elements span in memory; gaps between them count, repeated ones do not."""
    return span(tensor.sizes, tensor.strides) * ITEM_BYTES[tensor.dtype]


def seen_bytes(tensor: TensorRecipe) -> int:
    """As if each element had a place of its own: what a result of these sizes takes."""
    return prod(tensor.sizes) * ITEM_BYTES[tensor.dtype]


def span(sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """Elements from the first to the last, both included."""
    if strides is None or 0 in sizes:
        return prod(sizes)
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def overlaps(sizes: Sequence[int], strides: Sequence[int] | None) -> bool:
    """Whether elements may share a place: always told where they do, and of some odd layouts where not."""
    if strides is None or 0 in sizes:
        return False
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False
