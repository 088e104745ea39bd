"""The values in the tensors of a signature, sampled in several of its calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfprobe.tables.events import Signatures, SignatureValues
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_LATEST = 8  # the last calls; in the first the state of an optimizer is still zero
_EXTREMES = {"lowest": min, "highest": max}
_QUANTILES = "quantiles"


def values_of(recording: Recording, signature: int) -> str:
    """Returns text like `signatures.values`: the mean over later calls, else the values of the first.

    Calls of one signature may differ. Adam's state for an embedding holds zeros, its state for the next layer
    of the same shape does not, and a square root of zeros and tiny numbers takes five times as long. A call
    with the mean of the values costs about the mean of their costs.
    """
    strings, later = recording[Strings], recording[SignatureValues]
    rows = np.flatnonzero((later.signature == signature) & (later.values >= 0))[-_LATEST:]
    seen = [_digests(strings[later.values[row]]) for row in rows.tolist()]
    of_each = [digests for digests in seen if digests is not None and len(digests) == len(seen[-1] or ())]
    if not of_each:
        return strings[recording[Signatures].values[signature]]
    return json.dumps([_mean(digests) for digests in zip(*of_each, strict=True)])


def _digests(text: str) -> list[Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _mean(digests: Sequence[Any]) -> dict[str, Any] | None:
    """Returns the mean for one tensor; None if a call has no values or other kinds of values."""
    first = digests[0]
    if not all(isinstance(one, dict) and one.keys() == first.keys() for one in digests):
        return None
    columns = {name: [one[name] for one in digests] for name in first if name != _QUANTILES}
    if not all(_is_number(value) for column in columns.values() for value in column):
        return None
    found: dict[str, Any] = {name: _EXTREMES.get(name, _middle)(column) for name, column in columns.items()}
    quantiles = _mean_quantiles([one.get(_QUANTILES) for one in digests])
    return {**found, _QUANTILES: quantiles} if quantiles else found


def _mean_quantiles(listed: Sequence[Any]) -> list[float]:
    """Returns the mean over the calls that have finite quantiles."""
    full = [one for one in listed if isinstance(one, list) and one and all(map(_is_number, one))]
    if not full or any(len(one) != len(full[0]) for one in full):
        return []
    return [_middle(column) for column in zip(*full, strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**64


def _middle(values: Sequence[float]) -> float:
    return sum(values) / len(values)
