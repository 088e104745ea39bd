"""Chooses what to fill tensors with: classes of values that take the time that real ones take.

By what the operator needs, then by what was seen in the program; never numbers so small that the processor
handles them by slow code, unless the program had them. A tensor seen full of zeros is one not used yet, such
as an optimizer's state at its first step: nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite, prod
from typing import Any, TypeAlias

from perfprobe.bench.drift import FEW, calls_between_restores
from perfprobe.bench.rebuild.bounds import BOUNDS, Arguments, extent
from perfprobe.bench.rebuild.classes import FIXED, SAVED, SIGNED, Settings, Values
from perfprobe.bench.rebuild.fit import Fitted
from perfprobe.bench.rebuild.order import order_settings
from perfprobe.bench.rebuild.recipe import Argument, TensorRecipe, tensors_in

Digest: TypeAlias = Mapping[str, Any]

_LARGEST = {
    "bool": 1,
    "uint8": 255,
    "int8": 127,
    "int16": 32767,
    "uint16": 65535,
    "int32": 2147483647,
    "uint32": 4294967295,
    "int64": (1 << 61) - 1,  # so that also a range from below zero is one that torch draws from
    "uint64": (1 << 61) - 1,
}
# As many places of a mask are True as this operand has values for.
_FITTING = {
    **dict.fromkeys(("index_put", "_index_put_impl", "_unsafe_index_put"), "values"),
    "masked_scatter": "source",
    "masked_select_backward": "grad",
}
_SAMPLE = 256  # elements of a tensor that the recorder looked at, where it does not say
_SORTED = 0.98  # of neighbours
_MOST_QUANTILES = 64
_FACTORS = {"mul_": "other", "div_": "other"}  # of products in place
_INDEXING = ("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put")


def choose(fitted: Fitted, digests: list[Digest | None]) -> None:
    """Gives each tensor of the call its maker, and the call the name of what saved tensors must fit."""
    full_name = fitted.schema.operator.partition("::")[2]
    name = full_name.removeprefix("_foreach_")
    name = name if name.startswith("__") else name.removesuffix("_")
    rest = iter(digests)
    arguments = dict(fitted.arguments)
    for parameter in fitted.schema.parameters:
        found = arguments[parameter.name]
        fitted.arguments[parameter.name] = _chosen(name, parameter.name, 0, found, arguments, rest)
    fitted.saved = SAVED.get(full_name)
    _keep_in_range(fitted, full_name)


def _keep_in_range(fitted: Fitted, name: str) -> None:
    """What a call writes again and again is of ordinary numbers, as `drift` has it, and so are factors."""
    drifts = calls_between_restores(fitted.schema.operator, fitted.schema.overload) == FEW
    for parameter, argument in fitted.arguments.items():
        for tensor in tensors_in(argument):
            if parameter == _FACTORS.get(name) or (drifts and tensor.written):
                tensor.settings.pop("quantiles", None)


def _chosen(
    name: str, parameter: str, place: int, found: Argument, arguments: Arguments, digests: Any
) -> Argument:
    if isinstance(found, tuple):
        return tuple(_chosen(name, parameter, at, item, arguments, digests) for at, item in enumerate(found))
    if not isinstance(found, TensorRecipe):
        return found
    digest = next(digests, None) or {}
    maker, settings = _values(name, parameter, place, found, arguments, digest)
    return replace(found, maker=maker, settings=settings)


def _values(
    name: str, parameter: str, place: int, tensor: TensorRecipe, arguments: Arguments, digest: Digest
) -> Values:
    if tensor.dtype == "bool":
        return _mask(name, parameter, tensor, arguments, digest)
    is_float = tensor.dtype not in _LARGEST
    fixed = FIXED.get(name, {}).get(parameter)
    if fixed is not None and (is_float or fixed[0] != "uniform"):
        return fixed[0], {**fixed[1], **(_seen_parts(digest, fixed[1]) if fixed[0] == "uniform" else {})}
    if is_float:
        return "uniform", _seen_parts(digest, {}) or ({"negatives": 0.5} if name in SIGNED else {})
    if parameter in ("offsets", "lengths", "offset2bag", "pivots", "LU_pivots"):
        return _steps(parameter, tensor, arguments)
    return _integers(tensor, _bound(name, parameter, place, arguments), digest)


def _seen_parts(digest: Digest, needed: Settings) -> Settings:
    """Parts of what was seen; none where it was all zeros, or where the operator needs a range of numbers."""
    parts = {kind: _part(digest.get(kind)) for kind in ("negatives", "zeros", "denormals", "nonfinite")}
    if parts["zeros"] >= 1 or not digest or "low" in needed or "value" in needed:
        return {}
    seen: Settings = {kind: part for kind, part in parts.items() if part}
    seen.update(_run(parts["zeros"], digest))
    seen.update(_quantiles(digest))
    seen.update(_sorted(digest))
    return {**dict.fromkeys(needed, 0.0), **seen} or {"negatives": 0.0}


def _quantiles(digest: Digest) -> Settings:
    """Of which magnitude ordinary numbers were; nothing where there were none."""
    listed = digest.get("quantiles")
    found = [_finite(value) for value in listed[:_MOST_QUANTILES]] if isinstance(listed, list) else []
    known = tuple(value for value in found if value is not None)
    if len(known) < 2 or len(known) < len(found):
        return {}
    return {"quantiles": tuple(sorted(known))}


def _sorted(digest: Digest) -> Settings:
    """Whether each row is sorted: sorting and searching is several times as fast then."""
    rising = _finite(digest.get("ascending", 0.5)) or 0.0
    is_sorted = abs(rising - 0.5) >= _SORTED - 0.5
    return {"order": "ascending" if rising > 0.5 else "descending"} if is_sorted else {}


def _part(value: object) -> float:
    return min(max(_finite(value) or 0.0, 0.0), 1.0)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -(2.0**63) < value < 2.0**63 and isfinite(value) else None


def _mask(name: str, parameter: str, tensor: TensorRecipe, arguments: Arguments, digest: Digest) -> Values:
    source = arguments.get(_FITTING.get(name, ""))
    if isinstance(source, TensorRecipe) and parameter in ("indices", "mask"):
        places = prod(source.sizes if parameter == "mask" else source.sizes[:1])
        if places != 1 or parameter == "mask":  # one value for all places
            return "mask", {"count": min(places, prod(tensor.sizes))}
    if name == "native_dropout_backward":
        scale = _finite(arguments.get("scale")) or 2.0
        return "mask", {"true": min(1 / max(scale, 1.0), 1.0)}
    if "true" not in digest:
        return "mask", {"true": 0.5}
    true = _part(digest["true"])
    return "mask", {"true": true, **_run(true, digest)}


def _run(part: float, digest: Digest) -> Settings:
    """How many neighbours are alike, so that as many differ as were seen: a processor learns long runs.

    Of runs of L that are of one kind with chance p, 2 p (1 - p) / L neighbours differ. The sample cannot tell
    runs that are longer than itself.
    """
    changes = max(_part(digest.get("changes", 1.0)), 1 / _looked_at(digest))
    run = round(2 * part * (1 - part) / changes)
    return {"run": run} if run > 1 else {}


def _steps(parameter: str, tensor: TensorRecipe, arguments: Arguments) -> Values:
    """Ascending offsets of bags and pivots; descending lengths of sequences."""
    count = max(prod(tensor.sizes), 1)
    if parameter == "lengths":
        return "steps", {
            "first": extent(arguments.get("input"), 1 if arguments.get("batch_first") else 0),
            "last": 1,
        }
    if "pivots" in parameter:
        return "steps", {"first": 1, "last": tensor.sizes[-1] if tensor.sizes else 1}
    if parameter == "offset2bag":
        return "steps", {"first": 0, "last": max(extent(arguments.get("grad"), 0) - 1, 0)}
    indices = extent(arguments.get("indices"), 0)
    last = indices if arguments.get("include_last_offset") is True else indices * (count - 1) // count
    return "steps", {"first": 0, "last": last}


def _bound(name: str, parameter: str, place: int, arguments: Arguments) -> int | None:
    """What the integers of an operand must be below, None where they index nothing."""
    if name in _INDEXING and parameter == "indices":
        return extent(arguments.get("self"), _dimension(arguments.get("indices"), place))
    find = BOUNDS.get(name, {}).get(parameter)
    return None if find is None else find(arguments)


def _dimension(indices: Argument, place: int) -> int:
    """A mask among the indices stands for as many dimensions as it has."""
    before = indices[:place] if isinstance(indices, tuple) else ()
    return sum(
        len(item.sizes) if isinstance(item, TensorRecipe) and item.dtype in ("bool", "uint8") else 1
        for item in before
    )


def _integers(tensor: TensorRecipe, bound: int | None, digest: Digest) -> Values:
    most = _LARGEST[tensor.dtype] + 1
    low, below = (1, 100) if bound is None else (0, min(max(bound, 1), most))
    lowest, highest = _finite(digest.get("lowest")), _finite(digest.get("highest"))
    if lowest is not None and highest is not None and highest >= lowest:
        least = -most if bound is None and not tensor.dtype.startswith("uint") else 0
        seen_low, seen_below = max(int(lowest), least), min(int(highest) + 1, below if bound else most)
        if seen_low < seen_below:
            low, below = seen_low, seen_below
    settings: Settings = {"low": low, "below": below}
    if "distinct" in digest:
        looked_at = _sorted_of(min(prod(tensor.sizes), _looked_at(digest)))
        settings["distinct"] = _distinct(_part(digest["distinct"]), looked_at, below - low)
    order = order_settings(digest, prod(tensor.sizes), below - low)
    return "integers", {**settings, **_quantiles(digest), **order}


def _looked_at(digest: Digest) -> int:
    return max(int(_finite(digest.get("sample", _SAMPLE)) or _SAMPLE), 1)


def _sorted_of(looked_at: int) -> int:
    """Of so many elements evenly spread ones are compared with each other, 256 at most."""
    each = -(-looked_at // _SAMPLE)
    return -(-looked_at // max(each, 1))


def _distinct(seen: float, looked_at: int, there: int) -> int:
    """How many values to draw from: -1 each but once, 0 all there are, which give about as many as seen.

    Of m numbers drawn from n, n (1 - (1 - 1/n)^m) are expected to differ.
    """
    expected = there * (1 - (1 - 1 / there) ** looked_at)
    if seen >= 1:
        return -1
    return 0 if seen * looked_at > expected / 2 else max(round(seen * looked_at), 1)
