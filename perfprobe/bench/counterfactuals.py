"""The same call with one thing changed, to be measured beside it: only that tells why a call is slow.

Everything here is text: a changed call is a `Wanted` that is rebuilt like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from perfprobe.bench.changed_values import other_values
from perfprobe.bench.padding import PRODUCTS, paddings
from perfprobe.bench.rebuild.recipe import Argument, CallRecipe, TensorRecipe
from perfprobe.models.signature import Item, List, Scalar, Tensor, parse, render, tensors, with_tensors
from perfprobe.models.work import Work
from perfprobe.tables.measurements import Wanted

_CONVOLUTIONS = frozenset(
    ("convolution", "_convolution", "convolution_overrideable", "convolution_backward", "mkldnn_convolution")
)
_COPIES = frozenset(("copy", "_to_copy", "to", "clone", "contiguous"))
# They touch no element: nothing changes their time.
_VIEWS = frozenset(("alias", "as_strided", "chunk", "detach", "diagonal", "expand", "lift_fresh", "narrow"))
_VIEWS |= frozenset(("permute", "resize", "select", "set", "slice", "split", "split_with_sizes", "squeeze"))
_VIEWS |= frozenset(("t", "transpose", "unbind", "unfold", "unsqueeze", "view", "_reshape_alias"))
_VIEWS |= frozenset(("_unsafe_view",))
_RANDOM = frozenset(("bernoulli", "native_dropout"))
# What was in their tensor before does not matter to them.
_FILLS = frozenset(("fill", "zero", "normal", "uniform", "random", "bernoulli", "exponential", "geometric"))
_FILLS |= frozenset(("cauchy", "log_normal"))
_PARALLEL = 2048  # elements: no kernel of torch splits less work between threads
_RECYCLABLE_BYTES = 64 << 10  # a smaller output always lies in memory that was used before


@dataclass(frozen=True)
class Change:
    """One changed call.

    kind, change: as `Counterfactual` has them. wanted: the changed call. recycled: the same call, but its
    outputs lie where earlier ones lay. copied: the same call, but these of its recipe's positional arguments
    (tensors, or lists of them) are first made contiguous, within the time that is measured.
    """

    kind: str
    change: str
    wanted: Wanted
    recycled: bool = False
    copied: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Call:
    """name: without namespace, overload and the underscore of an in-place operator."""

    wanted: Wanted
    recipe: CallRecipe
    name: str
    overload: str
    items: tuple[Item, ...]
    example: tuple[Item, ...]  # the same with the values of floats; none where they are not known
    tensors: tuple[Tensor, ...]
    threads: int
    work: Work | None

    def changed(self, kind: str, change: str, edit: Callable[[tuple[Item, ...]], Sequence[Item]]) -> Change:
        """The same edit of the signature and of its example."""
        signature, example = render(edit(self.items)), self.example and render(edit(self.example))
        return Change(kind, change, replace(self.wanted, signature=signature, example=example or ""))


def changes(wanted: Wanted, recipe: CallRecipe, threads: int, work: Work | None = None) -> tuple[Change, ...]:
    """What to measure beside a call: seven changes at most, none where nothing that can be changed matters.

    Args:
        wanted: the call.
        recipe: of the same call.
        threads: of torch's pool, with which the call itself is measured.
        work: of the call, where there is a model of it.
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
    call = _Call(wanted, recipe, name, overload, items, example, called, threads, work)
    return tuple(change for rule in _RULES for change in rule(call))


def _is_opaque(tensor: Tensor) -> bool:
    return tensor.sizes is None or tensor.subclass or tensor.layout != "strided"


def _is_scattered(sizes: Sequence[int], strides: Sequence[int] | None) -> bool:
    """Whether elements lie in another order than their indices, or apart; rows may, and may be repeated."""
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


def _one_thread(call: _Call) -> Iterator[Change]:
    most = max((prod(tensor.sizes or ()) for tensor in call.tensors), default=_PARALLEL)
    if call.threads > 1 and _is_on_cpu(call) and most >= _PARALLEL:
        yield Change("threads", f"{call.threads}→1 threads", replace(call.wanted, threads=1))


def _is_on_cpu(call: _Call) -> bool:
    return all(tensor.device == "cpu" for tensor in call.tensors)


def _padded(call: _Call) -> Iterator[Change]:
    if call.name not in PRODUCTS or call.overload not in ("", "out"):
        return
    for words, operands in paddings(call.name, call.tensors):
        yield call.changed("padded", words, partial(_with, operands))


def _with(operands: Sequence[Tensor], items: tuple[Item, ...]) -> tuple[Item, ...]:
    return with_tensors(items, iter(operands))


def _other_dtype(call: _Call) -> Iterator[Change]:
    dtypes = {tensor.dtype for tensor in call.tensors if prod(tensor.sizes or ()) > 1}
    is_product = call.name in _CONVOLUTIONS or (call.name in PRODUCTS and call.overload in ("", "out"))
    if call.name in _COPIES:
        return
    if "f64" in dtypes:
        yield call.changed("dtype", "f64→f32", lambda items: _retyped(items, "f64", "f32"))
    elif dtypes == {"f32"} and is_product:
        yield call.changed("dtype", "f32→bf16", lambda items: _retyped(items, "f32", "bf16"))


def _retyped(items: Sequence[Item], old: str, new: str) -> tuple[Item, ...]:
    """Also of arguments that name a dtype."""
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
    """The largest operand stands for the output of an operator without a model."""
    made = [tensor for argument in call.recipe.arguments for tensor in _recipes(argument)]
    made += [tensor for argument in call.recipe.keywords.values() for tensor in _recipes(argument)]
    known = (prod(tensor.sizes) * 4 for tensor in made)
    size = call.work.write_bytes if call.work is not None else max(known, default=_RECYCLABLE_BYTES)
    if not any(tensor.written for tensor in made) and size >= _RECYCLABLE_BYTES and _is_on_cpu(call):
        yield Change("recycled output", "recycled output", call.wanted, recycled=True)


_RULES = (_contiguous, _one_thread, _padded, _other_dtype, _other_values, _recycled)
