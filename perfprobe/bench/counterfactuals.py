"""The same call with one thing changed, measured beside it: only this shows why a call is slow.

Here a changed call is only text: a `Wanted` that is rebuilt like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from perfprobe.bench.changed_values import other_values
from perfprobe.bench.equivalents.form import Form
from perfprobe.bench.padding import PRODUCTS, paddings
from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, TensorRecipe
from perfprobe.models.signature import Item, List, Scalar, Tensor, parse, render, tensors, with_tensors
from perfprobe.models.work import Work
from perfprobe.tables.measurements import Wanted

_CONVOLUTIONS = frozenset(
    ("convolution", "_convolution", "convolution_overrideable", "convolution_backward", "mkldnn_convolution")
)
# Of images or volumes, N x C x H x W: these have kernels for channels last.
_IMAGES = _CONVOLUTIONS | frozenset(("batch_norm", "native_batch_norm", "native_batch_norm_backward"))
_IMAGES |= frozenset(("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d"))
_IMAGES |= frozenset(("avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward"))
_IMAGES |= frozenset(("upsample_nearest2d", "upsample_bilinear2d", "native_group_norm"))
_NARROW = ("bf16", "f16", "i8")  # many processors have no instructions for their products
_COPIES = frozenset(("copy", "_to_copy", "to", "clone", "contiguous"))
# They touch no element, so no change affects their time.
_VIEWS = frozenset(("alias", "as_strided", "chunk", "detach", "diagonal", "expand", "lift_fresh", "narrow"))
_VIEWS |= frozenset(("permute", "resize", "select", "set", "slice", "split", "split_with_sizes", "squeeze"))
_VIEWS |= frozenset(("t", "transpose", "unbind", "unfold", "unsqueeze", "view", "_reshape_alias"))
_VIEWS |= frozenset(("_unsafe_view",))
_RANDOM = frozenset(("bernoulli", "native_dropout"))
# The previous contents of their tensor do not matter.
_FILLS = frozenset(("fill", "zero", "normal", "uniform", "random", "bernoulli", "exponential", "geometric"))
_FILLS |= frozenset(("cauchy", "log_normal"))
_PARALLEL = 2048  # elements: no kernel of torch splits less work between threads
_RECYCLABLE_BYTES = 64 << 10  # a smaller output always gets memory that was used before


@dataclass(frozen=True)
class Change:
    """One changed call.

    Attributes:
        kind, change: as in `Counterfactual`.
        wanted: the changed call.
        recycled: the same call, with its outputs in the memory of earlier outputs.
        copied: the same call, but these positional arguments (tensors or lists of tensors) are made
            contiguous first, within the measured time.
        flushed: the same call, with denormals flushed to zero.
        products: the dtypes of a product before and after. The change is only tried if products of the second
            dtype are not slower here.
        convolves: whether these products are convolutions.
        form: the same result, computed in another way.
    """

    kind: str
    change: str
    wanted: Wanted
    recycled: bool = False
    copied: tuple[int, ...] = ()
    flushed: bool = False
    products: tuple[str, str] | None = None
    convolves: bool = False
    form: Form | None = None


@dataclass(frozen=True)
class _Call:
    """A call to change. name: without namespace, overload and the underscore of an in-place operator."""

    wanted: Wanted
    recipe: CallRecipe
    name: str
    overload: str
    items: tuple[Item, ...]
    example: tuple[Item, ...]  # the same with the values of floats; empty if they are not known
    tensors: tuple[Tensor, ...]
    threads: int
    processors: int
    work: Work | None

    def changed(self, kind: str, change: str, edit: Callable[[tuple[Item, ...]], Sequence[Item]]) -> Change:
        """Applies the same edit to the signature and to its example."""
        signature, example = render(edit(self.items)), self.example and render(edit(self.example))
        return Change(kind, change, replace(self.wanted, signature=signature, example=example or ""))


def changes(
    wanted: Wanted, recipe: CallRecipe, threads: int, work: Work | None = None, processors: int = 1
) -> tuple[Change, ...]:
    """Returns the changed calls to measure beside a call: at most eight; none if no change can matter.

    Args:
        wanted: the call.
        recipe: its recipe.
        threads: size of torch's thread pool for the call itself.
        work: the work of the call; None without a model.
        processors: the number that this machine lets us use.
    """
    items = parse(wanted.signature)
    if items is None:
        return ()
    called = tuple(tensors(items))
    base, _, overload = wanted.operator.partition("::")[2].partition(".")
    name = base if base.startswith("__") else base.rstrip("_")
    if name in _VIEWS or any(_is_opaque(tensor) for tensor in called):
        return ()
    example = parse(wanted.example) or ()
    if tuple(tensors(example)) != called:
        example = ()
    call = _Call(wanted, recipe, name, overload, items, example, called, threads, processors, work)
    return tuple(change for rule in _RULES for change in rule(call))


def _is_opaque(tensor: Tensor) -> bool:
    return tensor.sizes is None or tensor.subclass or tensor.layout != "strided"


def _is_scattered(sizes: Sequence[int], strides: Sequence[int] | None) -> bool:
    """Whether elements are in another order than their indices, or have gaps.

    Rows may have any distance, also 0.
    """
    if strides is None:
        return False
    real = [stride for size, stride in zip(sizes, strides, strict=False) if size > 1 and stride != 0]
    return bool(real) and (real[-1] != 1 or real != sorted(real, reverse=True))


def _contiguous(call: _Call) -> Iterator[Change]:
    scattered = [_is_scattered(tensor.sizes or (), tensor.strides) for tensor in call.tensors]
    if not any(scattered):
        return
    places = [str(place) for place, found in enumerate(scattered, 1) if found]
    words = f"contiguous operand{'s' * (len(places) > 1)} {', '.join(places)}"

    laid_out = [
        replace(tensor, strides=None) if found else tensor
        for tensor, found in zip(call.tensors, scattered, strict=True)
    ]
    yield call.changed("contiguous", words, partial(_with, laid_out))
    arguments = [list(_recipes(argument)) for argument in call.recipe.arguments]
    copied = [
        place
        for place, found in enumerate(arguments)
        if any(_is_scattered(made.sizes, made.strides) for made in found)
    ]
    is_written = any(made.written for place in copied for made in arguments[place])
    if copied and not is_written and call.name not in _COPIES:
        yield Change("contiguous with copy", words, call.wanted, copied=tuple(copied))


def _recipes(argument: Argument) -> Iterator[TensorRecipe]:
    if isinstance(argument, TensorRecipe):
        yield argument
    elif isinstance(argument, tuple):
        for element in argument:
            yield from _recipes(element)


def _channels_last(call: _Call) -> Iterator[Change]:
    """Only if this changes the image. A 1x1 weight has the same layout either way."""
    if call.name not in _IMAGES:
        return
    laid_out = [_with_channels_last(tensor) for tensor in call.tensors]
    if laid_out[:1] != list(call.tensors[:1]):
        yield call.changed("channels_last", "channels_last", partial(_with, laid_out))


def _with_channels_last(tensor: Tensor) -> Tensor:
    """Returns the tensor with channels last; unchanged if it has no channels or already is."""
    sizes = tensor.sizes or ()
    if len(sizes) not in (4, 5) or sizes[1] == 1 or prod(sizes[2:]) == 1:
        return tensor
    strides = [prod(sizes[1:]), 1, *(sizes[1] * prod(sizes[place + 1 :]) for place in range(2, len(sizes)))]
    return replace(tensor, strides=tuple(strides))


def _other_threads(call: _Call) -> Iterator[Change]:
    """One thread instead of several, or all threads of the machine instead of one."""
    most = max((prod(tensor.sizes or ()) for tensor in call.tensors), default=_PARALLEL)
    other = 1 if call.threads > 1 else call.processors
    if other != call.threads and _is_on_cpu(call) and most >= _PARALLEL:
        yield Change("threads", f"{call.threads}→{other} threads", replace(call.wanted, threads=other))


def _is_on_cpu(call: _Call) -> bool:
    return all(tensor.device == "cpu" for tensor in call.tensors)


def _padded(call: _Call) -> Iterator[Change]:
    if not _is_plain_product(call):
        return
    for words, operands in paddings(call.name, call.tensors):
        yield call.changed("padded", words, partial(_with, operands))


def _with(operands: Sequence[Tensor], items: tuple[Item, ...]) -> tuple[Item, ...]:
    return with_tensors(items, iter(operands))


def _other_dtype(call: _Call) -> Iterator[Change]:
    dtypes = {tensor.dtype for tensor in call.tensors if tensor.sizes}  # others do not promote
    if call.name in _COPIES:
        return
    if "f64" in dtypes:
        yield call.changed("dtype", "f64→f32", lambda items: _retyped(items, "f64", "f32"))
    elif len(dtypes) == 1 and (call.name in _CONVOLUTIONS or _is_plain_product(call)):
        (old,) = dtypes
        new = "bf16" if old == "f32" else "f32" if old in _NARROW else None
        if new is not None:
            change = call.changed("dtype", f"{old}→{new}", lambda items: _retyped(items, old, new))
            yield replace(change, products=(old, new), convolves=call.name in _CONVOLUTIONS)


def _is_plain_product(call: _Call) -> bool:
    return call.name in PRODUCTS and call.overload in ("", "out")


def _retyped(items: Sequence[Item], old: str, new: str) -> tuple[Item, ...]:
    """Replaces a dtype in tensors and in arguments that name it."""
    return tuple(
        replace(item, dtype=new)
        if isinstance(item, Tensor) and item.dtype == old
        else replace(item, value=new)
        if isinstance(item, Scalar) and item.value == old
        else replace(item, items=_retyped(item.items, old, new))
        if isinstance(item, List)
        else item
        for item in items
    )


def _other_values(call: _Call) -> Iterator[Change]:
    fixed = call.name in _COPIES or call.name in _FILLS
    found = None if fixed else other_values(call.name, call.overload, call.items, call.wanted.values)
    if found is not None:
        yield Change("values", found[0], replace(call.wanted, values=found[1]))
    for item in call.example if call.name in _RANDOM else ():
        if isinstance(item, Scalar) and item.name == "p" and item.value != "0.5":
            half = [replace(item, value="0.5") if other is item else other for other in call.example]
            yield Change("values", f"p {item.value}→0.5", replace(call.wanted, example=render(half)))


def _recycled(call: _Call) -> Iterator[Change]:
    """For an operator without a work model, the largest operand gives the size of the output."""
    made = [tensor for argument in call.recipe.arguments for tensor in _recipes(argument)]
    made += [tensor for argument in call.recipe.keywords.values() for tensor in _recipes(argument)]
    known = (prod(tensor.sizes) * 4 for tensor in made)
    size = call.work.write_bytes if call.work is not None else max(known, default=_RECYCLABLE_BYTES)
    if not any(tensor.written for tensor in made) and size >= _RECYCLABLE_BYTES and _is_on_cpu(call):
        yield Change("recycled output", "recycled output", call.wanted, recycled=True)


_RULES = (_contiguous, _channels_last, _other_threads, _padded, _other_dtype, _other_values, _recycled)
