"""Rows grouped by keys, compared with grouping by a dict."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np

from perfprobe.analyse.grouping import group_of, sort_by_keys

_WILD = [2**31 - 1, -(2**31), 0, 7, 2**31 - 1, 7]  # ids as they may be in a damaged recording


def test_arbitrary_ids_are_grouped_in_little_memory() -> None:
    keys = [np.array(_WILD, np.int32), np.array([1, 1, 0, 5, 1, 5], np.int32)]

    tracemalloc.start()
    order, first = sort_by_keys(keys)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    pairs = list(zip(*(key.tolist() for key in keys), strict=True))
    sizes = np.diff(np.append(first, len(order))).tolist()
    assert most_bytes < 1 << 21
    assert Counter(sizes) == Counter(Counter(pairs).values())
    group = group_of(order, first).tolist()
    assert len(set(zip(group, pairs, strict=True))) == len(first) == len(set(pairs))
