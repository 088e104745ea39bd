"""Chooses what to fill tensors with, so that the call takes the time that it takes with real values.

First counts what the operator needs, then what was seen in the program. Denormals, which processors handle
slowly, are only used if the program had them. A tensor full of zeros was probably not used yet, such as an
optimizer's state at its first step: then nothing is known of its values.
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
    "int64": (1 << 61) - 1,  # so that torch can draw from the range, even if it begins below zero
    "uint64": (1 << 61) - 1,
}
# The number of True in a mask is the number of values in this operand.
_FITTING = {
    **dict.fromkeys(("index_put", "_index_put_impl", "_unsafe_index_put"), "values"),
    "masked_scatter": "source",
    "masked_select_backward": "grad",
}
_SAMPLE = 256  # elements of a tensor that the recorder examined, if it does not say how many
_SORTED = 0.98  # part of neighbours that are in order
_MOST_QUANTILES = 64
_FACTORS = {"mul_": "other", "div_": "other"}  # factors of in-place products
_INDEXING = ("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put")


def choose(fitted: Fitted, digests: list[Digest | None]) -> None:
    """Sets the maker of each tensor, and the name of the function that makes saved tensors fit."""
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
    """Uses plain numbers for factors, and for tensors that a call writes repeatedly: see `drift`."""
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
    """Returns the parts of special values seen. Empty if all were zeros, or if the operator needs a range."""
    parts = {kind: _part(digest.get(kind)) for kind in ("negatives", "zeros", "denormals", "nonfinite")}
    if parts["zeros"] >= 1 or not digest or "low" in needed or "value" in needed:
        return {}
    seen: Settings = {kind: part for kind, part in parts.items() if part}
    seen.update(_run(parts["zeros"], digest))
    seen.update(_quantiles(digest))
    seen.update(_sorted(digest))
    return {**dict.fromkeys(needed, 0.0), **seen} or {"negatives": 0.0}


def _quantiles(digest: Digest) -> Settings:
    """Returns the quantiles of ordinary numbers; empty if there were none."""
    listed = digest.get("quantiles")
    found = [_finite(value) for value in listed[:_MOST_QUANTILES]] if isinstance(listed, list) else []
    known = tuple(value for value in found if value is not None)
    if len(known) < 2 or len(known) < len(found):
        return {}
    return {"quantiles": tuple(sorted(known))}


def _sorted(digest: Digest) -> Settings:
    """Returns the order of sorted rows: sorting and searching them is several times as fast."""
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
        if places != 1 or parameter == "mask":  # one value stands for all places
            return "mask", {"count": min(places, prod(tensor.sizes))}
    if name == "native_dropout_backward":
        scale = _finite(arguments.get("scale")) or 2.0
        return "mask", {"true": min(1 / max(scale, 1.0), 1.0)}
    if "true" not in digest:
        return "mask", {"true": 0.5}
    true = _part(digest["true"])
    return "mask", {"true": true, **_run(true, digest)}


def _run(part: float, digest: Digest) -> Settings:
    """Returns the length of runs of equal neighbours: a processor's branch prediction learns long runs.

    In runs of length L, each True with probability p, the part of neighbours that differ is 2 p (1 - p) / L.
    A sample cannot show runs longer than itself.
    """
    changes = max(_part(digest.get("changes", 1.0)), 1 / _looked_at(digest))
    run = round(2 * part * (1 - part) / changes)
    return {"run": run} if run > 1 else {}


def _steps(parameter: str, tensor: TensorRecipe, arguments: Arguments) -> Values:
    """Returns ascending offsets of bags and pivots, or descending lengths of sequences."""
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
    """Returns the bound that an operand's integers must be below; None if they are no indices."""
    if name in _INDEXING and parameter == "indices":
        return extent(arguments.get("self"), _dimension(arguments.get("indices"), place))
    find = BOUNDS.get(name, {}).get(parameter)
    return None if find is None else find(arguments)


def _dimension(indices: Argument, place: int) -> int:
    """Returns the dimension that an index selects. A mask before it covers as many dimensions as it has."""
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
    """Returns how many of the examined elements were compared with each other: evenly spaced, at most 256."""
    each = -(-looked_at // _SAMPLE)
    return -(-looked_at // max(each, 1))


def _distinct(seen: float, looked_at: int, there: int) -> int:
    """Returns how many values to draw from, to get about as many different ones as seen.

    -1: no value occurs twice; 0: all values in the range. Of m numbers drawn from n, n (1 - (1 - 1/n)^m) are
    expected to differ.
    """
    expected = there * (1 - (1 - 1 / there) ** looked_at)
    if seen >= 1:
        return -1
    return 0 if seen * looked_at > expected / 2 else max(round(seen * looked_at), 1)
