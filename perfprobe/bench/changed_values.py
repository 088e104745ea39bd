"""The same call with other values in its tensors, for operators whose time depends on the values.

Measurements showed which operators these are: denormals make arithmetic up to 200 times slower, the density
of a mask changes `masked_fill_` twelve-fold, signs change `threshold_backward` five-fold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from perfprobe.models.signature import Item, Scalar, Tensor, tensors
from perfprobe.support import units

# For each tensor the statistics of its values, as in `signatures.values`.
_Seen: TypeAlias = "list[dict[str, Any] | None]"
_Rule: TypeAlias = Callable[[Sequence[Item], Sequence[Tensor], _Seen], "tuple[str, _Seen] | None"]

_FEW, _HALF, _MANY = 0.01, 0.5, 0.9
_LARGEST = 1 << 64
_INTEGERS = frozenset(("i64", "i32"))


def other_values(operator: str, overload: str, items: Sequence[Item], seen: str) -> tuple[str, str] | None:
    """Returns what is changed, in words, and the new `values`; None if values hardly matter here.

    Args:
        operator: the name without namespace, overload and the underscore of an in-place operator.
        seen: the `values` of the call.
    """
    called = list(tensors(items))
    values = _read(seen, len(called))
    if overload.endswith("out") and values:
        values[-1] = None  # this tensor is only written; its values before do not matter
    for operators, rule in _RULES:
        if operators is not None and operator not in operators:
            continue
        changed = rule(items, called, values)
        if changed is not None:
            return changed[0], json.dumps(changed[1])
    return None


def _read(seen: str, count: int) -> _Seen:
    """Returns the statistics of each of `count` tensors, None for each that is unknown."""
    try:
        found = json.loads(seen) if seen else []
    except (ValueError, RecursionError):
        found = []
    entries = [_entry(entry) for entry in found[:count]] if isinstance(found, list) else []
    return entries + [None] * (count - len(entries))


def _entry(entry: object) -> dict[str, Any] | None:
    """Returns the numbers of an entry; None for a tensor full of zeros, which was not used yet."""
    if not isinstance(entry, dict) or entry.get("zeros") == 1:
        return None
    return {
        str(key): value
        for key, value in entry.items()
        if _is_number(value)
        or (key == "quantiles" and isinstance(value, list) and all(map(_is_number, value)))
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < _LARGEST  # NaN fails this comparison too


def _known(values: _Seen, key: str) -> float:
    """Returns the largest of these parts; 0 if none is known."""
    return max((entry[key] for entry in values if entry is not None and key in entry), default=0.0)


def _with(values: _Seen, key: str, value: float) -> _Seen:
    return [{**entry, key: value} if entry is not None and key in entry else entry for entry in values]


def _without(key: str, word: str) -> _Rule:
    """Makes a rule: if tensors had such floats, try the call without them."""

    def rule(_items: Sequence[Item], _tensors: Sequence[Tensor], values: _Seen) -> tuple[str, _Seen] | None:
        part = _known(values, key)
        return (f"{word} {_percent(part)}→0 %", _with(values, key, 0.0)) if part > 0 else None

    return rule


def _other_density(
    _items: Sequence[Item], called: Sequence[Tensor], values: _Seen
) -> tuple[str, _Seen] | None:
    place = next((place for place, tensor in enumerate(called) if tensor.dtype == "bool"), None)
    if place is None:
        return None
    part = (values[place] or {}).get("true", _HALF)  # as an unknown mask is rebuilt
    other = _FEW if 1 - _MANY < part < _MANY else _HALF
    words = f"mask {_percent(part)}→{_percent(other)} true"
    return words, [*values[:place], {"true": other}, *values[place + 1 :]]


def _all_let_through(
    _items: Sequence[Item], called: Sequence[Tensor], values: _Seen
) -> tuple[str, _Seen] | None:
    """For ReLU's backward: the sign of the second tensor decides which elements of the first pass."""
    if len(called) != 2:
        return None
    seen = values[1]
    part = _HALF if seen is None else seen.get("zeros", 0.0) + seen.get("negatives", 0.0)
    other = _HALF if part < 1 - _MANY else 0.0
    changed = {"zeros": other, "negatives": 0.0, "denormals": 0.0, "nonfinite": 0.0}
    return f"inputs not above 0 {_percent(part)}→{_percent(other)}", [values[0], changed]


def _one_index(items: Sequence[Item], called: Sequence[Tensor], values: _Seen) -> tuple[str, _Seen] | None:
    """Makes all indices equal. The first tensor is no index: it is indexed, or a gradient."""
    changed = list(values)
    left_out = next((item for item in items if isinstance(item, Scalar) and item.name == "padding_idx"), None)
    for place, tensor in enumerate(called):
        index = (values[place] or {}).get("highest", 0)
        is_index = place > 0 and tensor.dtype in _INTEGERS
        if is_index and (left_out is None or left_out.value != str(index)):
            changed[place] = {"lowest": index, "highest": index, "distinct": 0.0}
    return ("all indices equal", changed) if changed != values else None


def _percent(part: float) -> str:
    return f"{units.significant(100 * part, 3)} %"


_RULES: tuple[tuple[frozenset[str] | None, _Rule], ...] = (
    (None, _without("denormals", "denormals")),
    (None, _without("nonfinite", "infinite or NaN")),
    (
        frozenset(("masked_fill", "where", "masked_select", "masked_scatter", "nonzero", "index")),
        _other_density,
    ),
    (frozenset(("threshold_backward",)), _all_let_through),
    (frozenset(("sqrt", "rsqrt", "log")), _without("zeros", "zeros")),
    (frozenset(("sqrt", "rsqrt", "log", "pow")), _without("negatives", "negatives")),
    (
        frozenset(("embedding_dense_backward", "embedding", "index_put", "index_add", "scatter_add")),
        _one_index,
    ),
)
