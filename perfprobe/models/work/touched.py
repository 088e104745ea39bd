"""How much memory tensors take up: distinct elements, and the distinct 64-byte lines that these lie in.

Where a tensor starts is not recorded: it is taken to be the start of a line, as for what torch allocates.
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

# By the signature's name, of numbers that arithmetic is counted of: no complex ones, and no bare exponents.
ITEM_BYTES = {
    short_name(name): size
    for name, size in dtypes.ITEM_BYTES.items()
    if not name.startswith("complex") and name != "float8_e8m0fnu"
}


class NoModel(Exception):
    """The formula does not cover this signature."""


def require(holds: bool) -> None:
    """Raises NoModel unless it holds."""
    if not holds:
        raise NoModel


@frozen
class Operand:
    """A strided tensor. strides: in elements, None when contiguous."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        """Elements, repeated ones included."""
        require(min(self.sizes, default=0) >= 0)
        return prod(self.sizes)

    @property
    def item_bytes(self) -> int:
        """Raises NoModel for a dtype that is not one number of a fixed size."""
        require(self.dtype in ITEM_BYTES)
        return ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """Distinct elements: a dimension of stride 0 counts once, and so does what windows share."""
        return _distinct(self._layout()) * self.item_bytes if self.count else 0

    @property
    def line_bytes(self) -> int:
        """Distinct lines, each with all its bytes."""
        return _lines(self._layout(), self.item_bytes) * LINE_BYTES if self.count else 0

    def resized(self, dimension: int, size: int, step: int = 1) -> Operand:
        """A part of it: `size` places of one dimension, `step` apart."""
        sizes, strides = list(self.sizes), list(self.strides or contiguous(self.sizes))
        sizes[dimension], strides[dimension] = size, strides[dimension] * step
        return Operand(self.dtype, tuple(sizes), tuple(strides))

    def _layout(self) -> tuple[tuple[int, int], ...]:
        strides = contiguous(self.sizes) if self.strides is None else self.strides
        require(len(strides) == len(self.sizes))
        return _simplified(self.sizes, strides)


@frozen
class Scattered:
    """Runs of elements anywhere in a tensor: `count` of them, `run` elements each; at most all of it."""

    whole: Operand
    count: int
    run: int

    @property
    def bytes(self) -> int:
        """Each run once: that two are the same place is not known."""
        return min(self.count * self.run * self.whole.item_bytes, self.whole.bytes)

    @property
    def line_bytes(self) -> int:
        """Lines of all runs, each run at the start of one."""
        lines = -(-self.run * self.whole.item_bytes // LINE_BYTES)
        return min(self.count * lines * LINE_BYTES, self.whole.line_bytes)


def contiguous(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of rows one after another."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if sizes else ()


def _simplified(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(size, stride) from the innermost on, without repetition; what runs on or overlaps evenly is joined."""
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
    """Elements from the first to the last, both included."""
    return 1 + sum((size - 1) * stride for size, stride in layout)


def _nested(layout: tuple[tuple[int, int], ...]) -> bool:
    """Whether each dimension steps over all that is inside it."""
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
    """Lines of a layout in bytes that starts at this byte of a line.

    Blocks of the outermost dimension follow one another, so only neighbours share lines, and at most one. How
    a block lies to the lines repeats after a few blocks.
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
