"""Matrix products with their dimensions rounded up to what vector registers hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfprobe.models.signature import Tensor

# The dimensions of each tensor argument, the last one rightmost; behind them those of an `out`.
_DIMENSIONS = {
    "mm": ("MK", "KN", "MN"),
    "bmm": ("BMK", "BKN", "BMN"),
    "addmm": ("MN", "MK", "KN", "MN"),
    "_addmm_activation": ("MN", "MK", "KN", "MN"),
    "baddbmm": ("BMN", "BMK", "BKN", "BMN"),
    "addbmm": ("MN", "BMK", "BKN", "MN"),
    "mv": ("MK", "K", "M"),
    "addmv": ("M", "MK", "K", "M"),
    "linear": ("MK", "NK", "N"),
}
PRODUCTS = frozenset(_DIMENSIONS)
_PADDED = "MNK"  # a batch may be of any length
_ALONE = "KN"
_SMALLEST = 5  # of shorter dimensions the padding would be most of the work


def paddings(product: str, tensors: Sequence[Tensor]) -> list[tuple[str, tuple[Tensor, ...]]]:
    """The ways to pad a product, each in words (`K 13→16`), with its operands.

    All dimensions that do not fill registers together; K alone, which leaves the result's shape as it is; and
    N alone, which is one operand and often a number that the program may choose, as of classes.
    """
    lengths = _lengths(product, tensors)
    padded = {name: _padded(lengths[name], tensors[0].dtype) for name in _PADDED if name in lengths}
    odd = {name: padded[name] for name in padded if padded[name] != lengths[name]}
    choices = [odd] if odd else []
    if len(odd) > 1:
        choices += [{name: odd[name]} for name in _ALONE if name in odd]
    return [
        (
            ", ".join(f"{name} {lengths[name]}→{length}" for name, length in chosen.items()),
            tuple(
                _with_lengths(tensor, names, lengths, chosen)
                for tensor, names in zip(tensors, _DIMENSIONS[product], strict=False)
            ),
        )
        for chosen in choices
    ]


def _lengths(product: str, tensors: Sequence[Tensor]) -> dict[str, int]:
    """The length of each dimension; none where the operands do not fit each other."""
    names = _DIMENSIONS[product]
    found: dict[str, int] = {}
    if not len(names) - 1 <= len(tensors) <= len(names):
        return {}
    for tensor, of_tensor in zip(tensors, names, strict=False):
        if tensor.sizes is None:
            return {}
        for name, size in _named(of_tensor, tensor.sizes):
            if size != 1 and found.setdefault(name, size) != size:
                return {}
    return found


def _named(names: str, sizes: tuple[int, ...]) -> list[tuple[str, int]]:
    """Each named dimension with its size, from the last; a bias may have fewer, an input of linear more."""
    return list(zip(reversed(names), reversed(sizes), strict=False))


def _padded(length: int, dtype: str) -> int:
    """The next multiple of a 64-byte register's elements, of half a register where it is shorter."""
    step = 8 if dtype == "f64" or length <= 8 else 16
    return -(-length // step) * step if length >= _SMALLEST else length


def _with_lengths(tensor: Tensor, names: str, lengths: dict[str, int], chosen: dict[str, int]) -> Tensor:
    sizes = list(tensor.sizes or ())
    for place, (name, size) in enumerate(_named(names, tuple(sizes))):
        if name in chosen and size == lengths[name]:
            sizes[-1 - place] = chosen[name]
    return replace(tensor, sizes=tuple(sizes), strides=_strides(sizes, tensor.strides))


def _strides(sizes: Sequence[int], strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The same order in memory, and the same gaps, as far as there is room."""
    if strides is None:
        return None
    found = list(strides)
    end = 1
    for place in sorted(range(len(sizes)), key=lambda place: (strides[place], sizes[place])):
        if strides[place] != 0:
            found[place] = max(strides[place], end)
            end = found[place] * sizes[place]
    return tuple(found)
