"""Where operator time goes: a row for each operator, signature text, line and phase.

Batches are reduced to their groups and the groups to fewer groups, so that memory depends on how many
different rows there are, not on how long the program ran.

A call inside another of the same row (same operator, inputs and line: recursion) adds to self time and
calls but not to total time: the outer one contains it. Only where the outer one is still running when a
batch of some 130,000 operators ends are those of that batch counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.modules import pattern
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.events import USER_SCOPE, LinkedOperators, Losses
from perfprobe.tables.findings import HotspotRows, Hotspots, Totals
from perfprobe.tables.trace import Gap, Phase, Trace

KEYS = ("name", "overload", "signature", "frame", "forward_frame", "module", "phase", "gap", "scope")
SUMS = ("calls", "self_ns", "total_ns")
MOST_GROUPS = 262_144  # gathered before they are reduced again

_LARGEST_CODE = 2**62


def hotspots(trace: Trace) -> Hotspots:
    """The hotspot table, most self time first. Raises InputError when the trace cannot be read."""
    counter = _Counter()
    losses: list[Losses] = []
    same_text = _same_signatures(trace)
    parts: list[HotspotRows] = []
    gathered = 0
    for batch in trace.operators(losses):
        counter.add(batch)
        parts.append(_batch_rows(batch, same_text[batch.signature]))
        gathered += len(parts[-1])
        if gathered > MOST_GROUPS:
            parts = [_merged(parts)]
            gathered = 0
    rows, modules = _with_shared_modules(_merged(parts), trace.module_texts)
    order = np.argsort(-rows.self_ns, kind="stable")
    losses = [trace.recording.losses, *losses]
    return Hotspots(rows.take(order), counter.totals(), Losses.concat(losses), modules)


class _Counter:
    """Totals over all operators."""

    def __init__(self) -> None:
        self._operators = 0
        self._of_thread: dict[int, int] = {}
        self._backward_ns = 0
        self._linked_ns = 0
        self._last_end_ns: int | None = None

    def add(self, batch: LinkedOperators) -> None:
        self._operators += len(batch)
        self_ns = np.where(batch.scope == USER_SCOPE, 0, batch.self_ns)
        first = _first_of_each(batch.thread)
        for thread, time_ns in zip(
            batch.thread[first].tolist(), np.add.reduceat(self_ns, first).tolist(), strict=True
        ):
            self._of_thread[thread] = self._of_thread.get(thread, 0) + time_ns
        backward = batch.phase == Phase.BACKWARD
        self._backward_ns += int(self_ns[backward].sum())
        self._linked_ns += int(self_ns[backward & (batch.gap == Gap.NONE)].sum())
        self._last_end_ns = max(int(batch.end_ns.max()), self._last_end_ns or 0)

    def totals(self) -> Totals:
        return Totals(
            operators=self._operators,
            threads=len(self._of_thread),
            self_ns=sum(self._of_thread.values()),
            busiest_ns=max(self._of_thread.values(), default=0),
            backward_ns=self._backward_ns,
            linked_ns=self._linked_ns,
            last_end_ns=self._last_end_ns,
        )


def _same_signatures(trace: Trace) -> Int32:
    """For every signature the first one of the same text, with one more entry for -1."""
    text = trace.recording.signatures.text
    _, first, group = np.unique(text, return_index=True, return_inverse=True)
    return np.append(first[group.reshape(-1)], -1).astype(np.int32)


def _batch_rows(batch: LinkedOperators, signature: Int32) -> HotspotRows:
    keys: dict[str, npt.NDArray[Any]] = {name: getattr(batch, name) for name in KEYS}
    keys["signature"] = signature
    order, first = _grouped([batch.thread, *keys.values()])
    duration_ns = np.maximum(batch.end_ns - batch.start_ns, 0)[order]
    duration_ns[_nested(batch, order, first)] = 0
    return HotspotRows(
        **_key_rows(keys, order[first]),
        calls=np.diff(np.append(first, len(order))),
        self_ns=np.add.reduceat(batch.self_ns[order], first),
        total_ns=np.add.reduceat(duration_ns, first),
        cpu_ns=_measured_sums(batch.cpu_ns[order], first),
    )


def _with_shared_modules(rows: HotspotRows, texts: Sequence[str]) -> tuple[HotspotRows, list[str]]:
    """Rows that differ in their module only become one; the module texts with those of such rows added."""
    if len(rows) == 0:
        return rows, list(texts)
    order, first = _grouped([getattr(rows, name) for name in KEYS if name != "module"])
    all_texts = list(texts)
    shared: dict[str, int] = {}
    module = rows.module.copy()
    for start, end in zip(first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
        members = order[start:end]
        if len(members) > 1:
            text = pattern([texts[at] if at >= 0 else "-" for at in module[members].tolist()])
            module[members] = shared.setdefault(text, len(all_texts))
            all_texts += [text] if shared[text] == len(all_texts) else []
    return _merged([replace(rows, module=module)]), all_texts


def _merged(parts: list[HotspotRows]) -> HotspotRows:
    rows = HotspotRows.concat(parts)
    if len(rows) == 0:
        return rows
    keys: dict[str, npt.NDArray[Any]] = {name: getattr(rows, name) for name in KEYS}
    order, first = _grouped(list(keys.values()))
    sums = {name: np.add.reduceat(getattr(rows, name)[order], first) for name in SUMS}
    cpu_ns = _measured_sums(rows.cpu_ns[order], first)
    return HotspotRows(**_key_rows(keys, order[first]), **sums, cpu_ns=cpu_ns)


def _key_rows(keys: Mapping[str, npt.NDArray[Any]], rows: Rows) -> dict[str, npt.NDArray[Any]]:
    return {name: column[rows] for name, column in keys.items()}


def _measured_sums(values: Int64, first: Rows) -> Int64:
    """Sums of what is not -1; -1 where nothing was measured."""
    if bool((values < 0).all()):
        return np.full(len(first), -1, np.int64)
    measured = np.add.reduceat((values >= 0).astype(np.int64), first)
    return np.where(measured > 0, np.add.reduceat(np.maximum(values, 0), first), -1)


def _grouped(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Rows sorted by group, in their order within each, and the place where each group begins."""
    codes = _codes(keys)
    bits = len(codes).bit_length()
    if int(codes.max()) < _LARGEST_CODE >> bits:
        # Sorting numbers is several times faster than sorting positions by them.
        combined = (codes << bits) + np.arange(len(codes))
        combined.sort()
        order, codes = combined & ((1 << bits) - 1), combined >> bits
    else:
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
    return order, _first_of_each(codes)


def _first_of_each(keys: npt.NDArray[Any]) -> Rows:
    """The places at which a sorted column changes, the first one included."""
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _codes(keys: list[npt.NDArray[Any]]) -> Int64:
    """One number for each row, equal exactly where all keys are equal."""
    codes = np.zeros(len(keys[0]), np.int64)
    span = 1
    for key in keys:
        ranks, size = _ranks(key)
        if size == 1:
            continue
        if span * size >= _LARGEST_CODE:
            found, codes = np.unique(codes, return_inverse=True)
            codes, span = codes.reshape(-1), len(found)
        codes = codes * size + ranks
        span *= size
    return codes


def _ranks(key: npt.NDArray[Any]) -> tuple[Int64, int]:
    """The column with its distinct values numbered from 0, and how many they are."""
    low = int(key.min())
    places = key.astype(np.int64) - low
    size = int(places.max()) + 1
    if size <= 16:
        return places, size
    present = np.zeros(size, np.bool_)
    present[places] = True
    rank_of = np.cumsum(present) - 1
    return rank_of[places], int(rank_of[-1]) + 1


def _nested(batch: LinkedOperators, order: Rows, first: Rows) -> Mask:
    """Which rows, in sorted order, run inside a later row of their group.

    Within a group rows come in the order in which they ended, so the row directly before one that contains
    any is contained: where no row contains the one before it, none contains any.
    """
    start_ns = batch.start_ns[order]
    holds_last = start_ns[1:] <= start_ns[:-1]
    holds_last[first[1:] - 1] = False
    nested = np.zeros(len(order), np.bool_)
    if not bool(holds_last.any()):
        return nested
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    touched = np.zeros(len(first), np.bool_)
    touched[group[:-1][holds_last]] = True
    places = np.flatnonzero(touched[group])
    _, rank = np.unique(start_ns[places], return_inverse=True)
    # A later group's values are all larger, so the smallest value from here on is one of this group.
    value = group[places] * len(places) + rank.reshape(-1)
    smallest = np.minimum.accumulate(value[::-1])[::-1]
    nested[places[:-1]] = smallest[1:] <= value[:-1]
    return nested
