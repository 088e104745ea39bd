"""Makes smaller calls of the same overload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, TensorRecipe

_MOST = 64  # the largest extent that is tried
_COUNTS = ("below", "first", "last", "count")  # settings of makers that are bounds or counts

# Kernels that do not check whether their operands fit each other; those of candidates do not always.
_TRUSTING = frozenset(
    f"aten::{name}"
    for name in (
        *("_fft_c2r", "_ctc_loss", "_ctc_loss_backward", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward"),
        *("lstm", "gru", "rnn_tanh", "rnn_relu"),  # these call them
    )
)

Number = Callable[[int, int, frozenset[int]], int]  # of an integer, the largest extent, and all extents


def smaller(recipe: CallRecipe, extent: int) -> Iterator[CallRecipe]:
    """Yields candidates, smallest first: every extent is cut to `extent`, then to twice that, and so on.

    Equal extents stay equal. The meaning of an integer is not known here, so each meaning has its candidates:
    an extent, a count that only has to be small (kernel size, stride), an index, or none of these. Yields
    nothing for kernels that do not check their operands.
    """
    if recipe.operator in _TRUSTING:
        return
    if (convolution := _convolution(recipe, extent)) is not None:
        yield convolution
    # Without tensors only the integers say how much there is to do, as in `zeros`.
    extents = frozenset(size for tensor in recipe.tensors() for size in tensor.sizes) or _numbers(recipe)
    while extent <= _MOST:
        for in_list, alone in product((_as_extent, _as_count, _as_is), (_as_extent, _as_index, _as_is)):
            yield _cut(recipe, lambda value: _smaller(value, extent, extents, in_list, alone))  # noqa: B023
        extent *= 2


def _numbers(recipe: CallRecipe) -> frozenset[int]:
    arguments = (*recipe.arguments, *recipe.keywords.values())
    items = (item for one in arguments for item in (one if isinstance(one, tuple) else (one,)))
    return frozenset(item for item in items if type(item) is int)


def _as_is(value: int, most: int, extents: frozenset[int]) -> int:
    return value


def _as_extent(value: int, most: int, extents: frozenset[int]) -> int:
    return min(value, most) if value in extents or value > _MOST else value


def _as_count(value: int, most: int, extents: frozenset[int]) -> int:
    return min(value, most)


def _as_index(value: int, most: int, extents: frozenset[int]) -> int:
    return min(value, most if value in extents else most - 1)


def _cut(recipe: CallRecipe, change: Callable[[Argument], Argument]) -> CallRecipe:
    keywords = {name: change(value) for name, value in recipe.keywords.items()}
    return replace(recipe, arguments=tuple(map(change, recipe.arguments)), keywords=keywords)


def _smaller(
    argument: Argument, most: int, extents: frozenset[int], in_list: Number, alone: Number
) -> Argument:
    if isinstance(argument, tuple):
        return tuple(_smaller(item, most, extents, in_list, in_list) for item in argument)
    if isinstance(argument, TensorRecipe):
        return _resized(argument, tuple(min(size, most) for size in argument.sizes), most)
    return alone(argument, most, extents) if type(argument) is int else argument


def _resized(tensor: TensorRecipe, sizes: tuple[int, ...], most: int) -> TensorRecipe:
    indexes = (tensor.settings.get("low"), tensor.settings.get("below")) != (1, 100)  # else plain integers
    given = {name: tensor.settings.get(name) for name in _COUNTS if indexes}
    counts = {name: int(count) for name, count in given.items() if isinstance(count, int | float)}
    settings = {**tensor.settings, **{name: min(count, most) for name, count in counts.items()}}
    if "below" in counts:
        settings["low"] = 0
    if counts.get("first") == 0:
        settings["last"] = min(counts["last"], most - 1)
    strides = None if tensor.strides is None else _packed(tensor.strides, sizes)
    return replace(tensor, sizes=sizes, strides=strides, settings=settings)


def _packed(old: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns strides in the same order without gaps. A stride of 0 stays 0."""
    strides = [0] * len(sizes)
    step = 1
    for at in sorted(range(len(sizes)), key=lambda at: (old[at], -at)):
        if old[at]:
            strides[at] = step
            step *= max(sizes[at], 1)
    return tuple(strides)


@dataclass(frozen=True)
class _Positions:
    """The positions of a convolution's arguments."""

    input: int
    weight: int
    bias: int
    stride: int
    padding: int
    dilation: int
    groups: int
    gradient: int | None = None

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.stride, self.padding, self.dilation


_CONVOLUTIONS = {
    **dict.fromkeys(("aten::convolution", "aten::_convolution"), _Positions(0, 1, 2, 3, 4, 5, 8)),
    **dict.fromkeys(("aten::conv1d", "aten::conv2d", "aten::conv3d"), _Positions(0, 1, 2, 3, 4, 5, 6)),
    "aten::mkldnn_convolution": _Positions(0, 1, 2, 4, 3, 5, 6),
    "aten::convolution_backward": _Positions(1, 2, 3, 4, 5, 6, 9, 0),
}


def _convolution(recipe: CallRecipe, extent: int) -> CallRecipe | None:
    """Returns the convolution with about one output pixel and `extent` channels; None for other operators."""
    positions = _CONVOLUTIONS.get(recipe.operator)
    arguments = list(recipe.arguments)
    if positions is None or arguments[positions.dilation + 1] is True:  # transposed
        return None
    weight = arguments[positions.weight]
    kernel = weight.sizes[2:] if isinstance(weight, TensorRecipe) else ()
    space, out = _space(kernel, *(_integers(arguments[at]) for at in positions.numbers))
    sizes = {positions.weight: (extent, extent, *kernel), positions.input: (extent, extent, *space)}
    sizes[positions.bias] = (extent,)
    if positions.gradient is not None:
        sizes[positions.gradient] = (extent, extent, *out)
    for at, wanted in sizes.items():
        tensor = arguments[at]
        if isinstance(tensor, TensorRecipe) and len(tensor.sizes) == len(wanted):
            arguments[at] = _resized(tensor, wanted, extent)
        elif at == positions.bias and isinstance(tensor, tuple):  # only its sizes
            arguments[at] = (extent,)
    arguments[positions.groups] = 1
    return replace(recipe, arguments=tuple(arguments))


def _integers(argument: Argument) -> tuple[int, ...]:
    return tuple(item for item in argument if isinstance(item, int)) if isinstance(argument, tuple) else ()


def _space(
    kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """Returns the smallest image that the kernel fits in, and the sizes of its output."""
    space, out = [], []
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=False):
        reach = d * (k - 1) + 1
        space.append(max(reach - 2 * p, 1))
        out.append((space[-1] + 2 * p - reach) // max(s, 1) + 1)
    return space, out
