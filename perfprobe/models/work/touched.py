"""Computes how much memory tensors use: distinct elements, and the distinct 64-byte lines that contain them.

Where a tensor starts is not recorded. It is assumed to start at a line, as torch's allocations do.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

import numpy as np

from perfprobe.models import dtypes
from perfprobe.models.dtypes import short_name
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import distinct

LINE_BYTES = 64
_MOST_SPELLED_OUT = 1 << 22  # elements of a layout that no rule fits: 32 MB of addresses

# By the name in signatures. Complex numbers and dtypes with only an exponent are left out.
ITEM_BYTES = {
    short_name(name): size
    for name, size in dtypes.ITEM_BYTES.items()
    if not name.startswith("complex") and name != "float8_e8m0fnu"
}


class NoModel(Exception):
    """The formula does not cover this signature."""


def require(holds: bool) -> None:
    """Raises NoModel if the condition is false."""
    if not holds:
        raise NoModel


@frozen
class Operand:
    """A strided tensor. strides: in elements; None if contiguous."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        """The number of elements, including repeated ones."""
        require(min(self.sizes, default=0) >= 0)
        return prod(self.sizes)

    @property
    def item_bytes(self) -> int:
        """The size of an element. Raises NoModel if the dtype is not one number of fixed size."""
        require(self.dtype in ITEM_BYTES)
        return ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """The size of distinct elements: a dimension of stride 0 counts once, and so do shared elements."""
        return _distinct(self._layout()) * self.item_bytes if self.count else 0

    @property
    def line_bytes(self) -> int:
        """The size of the distinct lines."""
        return _lines(self._layout(), self.item_bytes) * LINE_BYTES if self.count else 0

    def resized(self, dimension: int, size: int, step: int = 1) -> Operand:
        """Returns a part of it: `size` places of one dimension, `step` apart."""
        sizes, strides = list(self.sizes), list(self.strides or contiguous(self.sizes))
        sizes[dimension], strides[dimension] = size, strides[dimension] * step
        return Operand(self.dtype, tuple(sizes), tuple(strides))

    def _layout(self) -> tuple[tuple[int, int], ...]:
        strides = contiguous(self.sizes) if self.strides is None else self.strides
        require(len(strides) == len(self.sizes))
        return _simplified(self.sizes, strides)


@frozen
class Scattered:
    """`count` runs of `run` elements anywhere in a tensor, together at most the whole tensor."""

    whole: Operand
    count: int
    run: int

    @property
    def bytes(self) -> int:
        """The size of all runs. Whether runs overlap is not known."""
        return min(self.count * self.run * self.whole.item_bytes, self.whole.bytes)

    @property
    def line_bytes(self) -> int:
        """The size of the lines of all runs, if each run starts at a line."""
        lines = -(-self.run * self.whole.item_bytes // LINE_BYTES)
        return min(self.count * lines * LINE_BYTES, self.whole.line_bytes)


def contiguous(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a contiguous tensor."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if sizes else ()


def _simplified(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Returns (size, stride) from the innermost on, without repetition, with adjacent dimensions joined."""
    layout: list[tuple[int, int]] = []
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size == 1 or stride == 0:
            continue
        if layout and stride % layout[-1][1] == 0 and stride <= layout[-1][0] * layout[-1][1]:
            inner, step = layout.pop()
            layout.append((inner + (size - 1) * (stride // step), step))
        else:
            layout.append((size, stride))
    return tuple(layout)


def _span(layout: tuple[tuple[int, int], ...]) -> int:
    """Returns the number of elements from the first to the last in memory, both included."""
    return 1 + sum((size - 1) * stride for size, stride in layout)


def _nested(layout: tuple[tuple[int, int], ...]) -> bool:
    """Whether the stride of each dimension is at least the span of all inner ones."""
    return all(stride >= _span(layout[:at]) for at, (_, stride) in enumerate(layout))


def _spelled_out(layout: tuple[tuple[int, int], ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    require(prod(size for size, _ in layout) <= _MOST_SPELLED_OUT and _span(layout) < 1 << 58)
    places = np.zeros(1, np.int64)
    for size, stride in layout:
        places = np.add.outer(np.arange(size, dtype=np.int64) * stride, places).ravel()
    return places


@lru_cache(maxsize=4096)
def _distinct(layout: tuple[tuple[int, int], ...]) -> int:
    if _nested(layout):
        return prod(size for size, _ in layout)
    return len(distinct(_spelled_out(layout)))


@lru_cache(maxsize=4096)
def _lines(layout: tuple[tuple[int, int], ...], item_bytes: int) -> int:
    if not _nested(layout):
        return len(distinct(_spelled_out(layout) * item_bytes // LINE_BYTES))
    return _lines_from(tuple((size, stride * item_bytes) for size, stride in layout), item_bytes, 0, {})


def _lines_from(
    layout: tuple[tuple[int, int], ...], item_bytes: int, start: int, known: dict[tuple[int, int], int]
) -> int:
    """Returns the number of lines of a layout in bytes that starts at byte `start` of a line.

    Blocks of the outermost dimension follow each other, so only neighbours share lines, and at most one line.
    The position of blocks relative to lines repeats after a few blocks.
    """
    if not layout:
        return 1
    key = len(layout), start
    if key not in known:
        (size, stride), inner = layout[-1], layout[:-1]
        period = LINE_BYTES // gcd(stride, LINE_BYTES)
        span = sum((count - 1) * step for count, step in inner) + item_bytes
        total = 0
        for phase in range(min(period, size)):
            at = (start + phase * stride) % LINE_BYTES
            total += -(-(size - phase) // period) * _lines_from(inner, item_bytes, at, known)
            if (at + span - 1) // LINE_BYTES == (at + stride) // LINE_BYTES:  # shared with the next block
                total -= -(-(size - 1 - phase) // period)
        known[key] = total
    return known[key]
