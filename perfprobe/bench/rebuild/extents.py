"""How much memory a tensor takes, from its text, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from perfprobe.bench.rebuild.recipe import TensorRecipe

DTYPES = {
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "c32": "complex32",
    "c64": "complex64",
    "c128": "complex128",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}  # the signature's short names; all others are spelled as torch does
ITEM_BYTES = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(
        ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "complex32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}


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
