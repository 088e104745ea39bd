"""The layout of a tensor in memory, from its sizes and strides."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides are those of a contiguous tensor. Dimensions of size 1 may have any stride."""
    if 0 in sizes:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=False):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
