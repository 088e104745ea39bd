"""Smaller calls of the same overload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, TensorRecipe

_EXTENTS = (1, 2, 4, 8, 16)


def smaller(recipe: CallRecipe) -> Iterator[CallRecipe]:
    """Candidates, smallest first: every extent cut to 1, 2, 4 ..., equal ones alike.

    Numbers that are extents too (sizes of a view, classes, groups) are cut with them in the first of each two
    candidates, and stay as they are in the second (kernels, paddings).
    """
    extents = {size for tensor in recipe.tensors() for size in tensor.sizes}
    for most in _EXTENTS:
        for cut in ({size: min(size, most) for size in extents}, {}):
            yield replace(
                recipe,
                arguments=tuple(_smaller(argument, most, cut) for argument in recipe.arguments),
                keywords={name: _smaller(value, most, cut) for name, value in recipe.keywords.items()},
            )


def _smaller(argument: Argument, most: int, cut: dict[int, int]) -> Argument:
    if isinstance(argument, tuple):
        return tuple(_smaller(item, most, cut) for item in argument)
    if isinstance(argument, bool):
        return argument
    if isinstance(argument, int):
        return cut.get(argument, argument)
    return _tensor(argument, most) if isinstance(argument, TensorRecipe) else argument


def _tensor(tensor: TensorRecipe, most: int) -> TensorRecipe:
    sizes = tuple(min(size, most) for size in tensor.sizes)
    settings = {name: min(value, most) if name in ("below", "last", "first", "count") and isinstance(value, int)
                else value for name, value in tensor.settings.items()}  # fmt: skip
    if "below" in settings:
        settings["low"] = 0
    return replace(tensor, sizes=sizes, strides=_packed(tensor, sizes), settings=settings)


def _packed(tensor: TensorRecipe, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides in the same order without gaps; elements in one place stay in one place."""
    if tensor.strides is None:
        return None
    strides = [0] * len(sizes)
    step = 1
    for at in sorted(range(len(sizes)), key=lambda at: (tensor.strides[at], -at)):
        if tensor.strides[at]:
            strides[at] = step
            step *= max(sizes[at], 1)
    return tuple(strides)
