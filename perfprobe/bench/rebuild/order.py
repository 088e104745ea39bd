"""Finds the order of a tensor's elements from a sample.

Sorted indices are gathered ten times as fast as random ones, because the processor predicts the next line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.bench.rebuild.classes import Settings

_SORTED = 0.9  # part of neighbours in order; a few exceptions do not matter
_TREND = 0.75  # part of distant pairs in order; without an order it is 0.5, plus or minus 0.02
_RUNS = 0.7  # part of neighbours in order: runs of at least four
_NEAR = 0.25  # times the difference of distant elements
_MEDIAN_STEP = 0.29  # the median difference of two random numbers, as a part of their range
_LONGEST_RUN = 1024  # that a sample can show


def order_of(digest: Mapping[str, Any]) -> str:
    """Returns "ascending", "descending", "runs" (each sorted), "near" (sorted by pages), or "" for none.

    Args:
        digest: statistics of integers, as in `signatures.values`.
    """
    try:
        rising, trend, step, far = (float(digest[name]) for name in ("ascending", "trend", "step", "far"))
    except (KeyError, TypeError, ValueError):
        return ""
    if abs(trend - 0.5) > _TREND - 0.5:
        if step == 0 or abs(rising - 0.5) >= _SORTED - 0.5:
            return "ascending" if trend > 0.5 else "descending"
        return "near"
    if abs(rising - 0.5) >= _RUNS - 0.5:
        return "runs"
    return "near" if step < _NEAR * far else ""


def order_settings(digest: Mapping[str, Any], elements: int, there: int) -> Settings:
    """Returns settings for the maker of integers; empty if they have no order.

    Args:
        digest: statistics of the integers.
        elements: number of elements.
        there: number of possible values.
    """
    order = order_of(digest)
    if not order or not 1 < there <= 1 << 31:
        return {}
    step = min(max(float(digest["step"]), 1.0), float(there))
    if order == "near":
        window = step * elements / there / _MEDIAN_STEP
        return {"order": order, "run": max(round(min(window, elements)), 2)}
    if order == "runs":
        rising = float(digest["ascending"])
        falls = max(min(rising, 1 - rising), 1 / _LONGEST_RUN)
        return {"order": order, "run": round(1 / falls), "step": round(step)}
    return {"order": order}
