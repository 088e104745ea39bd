"""Collects rows batch by batch, and merges equal ones before there are too many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import KEYS, group_of, key_rows, sort_by_keys, sums
from perfprobe.tables.findings import DurationBins, Sums

MOST_GROUPS = 262_144  # rows that are kept before equal ones are merged


class Gathering:
    """Sums and durations of all batches so far. Each batch has its own rows until equal ones are merged."""

    def __init__(self) -> None:
        self._rows: list[Sums] = []
        self._bins: list[DurationBins] = []
        self._new_rows = 0

    def add(self, rows: Sums, bins: DurationBins) -> None:
        """Add the rows of one batch. The column `row` of `bins` refers to `rows`."""
        self._rows.append(rows)
        self._bins.append(bins)
        self._new_rows += len(rows)
        if self._new_rows > MOST_GROUPS or sum(map(len, self._bins)) > durations.MOST_BINS:
            self.add_up()

    def add_up(self) -> tuple[Sums, DurationBins]:
        """Merge rows with equal keys. Returns all rows, and the durations of their calls."""
        rows, bins = Sums.concat(self._rows), self._all_bins()
        if len(rows):
            order, first = sort_by_keys([getattr(rows, name) for name in KEYS])
            rows = Sums(**key_rows(rows, order[first]), **sums(rows, order, first)).compact()
            bins = durations.fewer(durations.merge_bins(bins, group_of(order, first)))
        self._rows, self._bins, self._new_rows = [rows], [bins], 0
        return rows, bins

    def _all_bins(self) -> DurationBins:
        start = np.cumsum([0, *map(len, self._rows)])
        moved = [
            replace(bins, row=bins.row + np.int32(at))
            for at, bins in zip(start.tolist(), self._bins, strict=False)
        ]
        self._bins = []
        return DurationBins.concat(moved)
