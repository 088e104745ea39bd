"""What was in the tensors of a signature's calls, read in several of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfprobe.tables.events import Signatures, SignatureValues
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_LATEST = 8  # so many of the last; the first is of a time when the state of an optimizer was still zero
_EXTREMES = {"lowest": min, "highest": max}
_QUANTILES = "quantiles"


def values_of(recording: Recording, signature: int) -> str:
    """As `signatures.values`: the mean of what was seen in later calls, else what was seen in the first.

    Calls of one signature may differ: Adam's state for an embedding holds zeros, that for the layer of the
    same shape behind it none, and a square root of zeros and what is next to them takes five times as long. A
    call with the mean of their parts costs about the mean of their costs.
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
    """Of one tensor; None where in any of the calls nothing was read, or something else."""
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
    """Of those calls that had ordinary numbers."""
    full = [one for one in listed if isinstance(one, list) and one and all(map(_is_number, one))]
    if not full or any(len(one) != len(full[0]) for one in full):
        return []
    return [_middle(column) for column in zip(*full, strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**64


def _middle(values: Sequence[float]) -> float:
    return sum(values) / len(values)
