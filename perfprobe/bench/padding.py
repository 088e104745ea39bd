"""Changed matrix products, with dimensions rounded up to what vector registers hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfprobe.models.signature import Tensor

# The dimensions of each tensor argument, the last one rightmost; at the end those of an `out`.
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
_PADDED = "MNK"  # a batch need not be padded
_ALONE = "KN"
_SMALLEST = 5  # padding a shorter dimension would be most of the work


def paddings(product: str, tensors: Sequence[Tensor]) -> list[tuple[str, tuple[Tensor, ...]]]:
    """Returns the ways to pad a product, each in words (`K 13→16`) with its operands.

    They are: all dimensions that do not fill registers together; K alone, which keeps the shape of the
    result; and N alone, which is often a number that the program may choose, such as a number of classes.
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
    """Returns the length of each dimension; an empty dict if the operands do not fit each other."""
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
    """Pairs names and sizes from the last on. A bias may have fewer dimensions, an input of linear more."""
    return list(zip(reversed(names), reversed(sizes), strict=False))


def _padded(length: int, dtype: str) -> int:
    """Returns the next multiple of the elements of a 64-byte register, or of half of one if shorter."""
    step = 8 if dtype == "f64" or length <= 8 else 16
    return -(-length // step) * step if length >= _SMALLEST else length


def _with_lengths(tensor: Tensor, names: str, lengths: dict[str, int], chosen: dict[str, int]) -> Tensor:
    sizes = list(tensor.sizes or ())
    for place, (name, size) in enumerate(_named(names, tuple(sizes))):
        if name in chosen and size == lengths[name]:
            sizes[-1 - place] = chosen[name]
    return replace(tensor, sizes=tuple(sizes), strides=_strides(sizes, tensor.strides))


def _strides(sizes: Sequence[int], strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Returns strides with the same order in memory, and the same gaps where there is room."""
    if strides is None:
        return None
    found = list(strides)
    end = 1
    for place in sorted(range(len(sizes)), key=lambda place: (strides[place], sizes[place])):
        if strides[place] != 0:
            found[place] = max(strides[place], end)
            end = found[place] * sizes[place]
    return tuple(found)
