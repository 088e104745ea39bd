"""The order of a tensor's elements, as far as a sample shows it.

Sorted indices are gathered ten times as fast as random ones; a processor guesses their next line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.bench.rebuild.classes import Settings

_SORTED = 0.9  # of neighbours; a few strays are no matter
_TREND = 0.75  # of elements far apart: of no order half, give or take 0.02
_RUNS = 0.7  # of neighbours: runs of four and more
_NEAR = 0.25  # of the distance of elements far apart
_MEDIAN_STEP = 0.29  # of a window: the median distance of two numbers drawn from it
_LONGEST_RUN = 1024  # that a sample can tell


def order_of(digest: Mapping[str, Any]) -> str:
    """ "ascending", "descending", "runs" that are sorted each, "near" as within pages, "" for none.

    digest: of integers, as `signatures.values` has it.
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
    """Of the maker of integers that are drawn from so many; none where they are in no order."""
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
