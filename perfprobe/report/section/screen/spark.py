"""The course of the steps as a row of bars, one for each step or for the median of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perfprobe.support import units

BARS = "▁▂▃▄▅▆▇█"
MOST = 24  # bars
_LEAST_LEVELS = 2  # between the lowest and the highest bar: smaller differences are not drawn


def spark(durations_ns: Sequence[int]) -> str:
    """`▁▁▁▇▁▁▁▇ to 2.41 s`: bars whose height is a part of the longest; "" if they are nearly the same.

    A bar is the median of consecutive steps, of an even number the smaller one in the middle. Bars are of as
    many steps, or one more.
    """
    number = min(len(durations_ns), MOST)
    if number == 0:
        return ""
    ends = [len(durations_ns) * at // number for at in range(number + 1)]
    parts = [sorted(durations_ns[first:end]) for first, end in pairwise(ends)]
    medians_ns = [part[(len(part) - 1) // 2] for part in parts]
    longest_ns = max(medians_ns)
    levels = [-(-len(BARS) * max(time_ns, 1) // max(longest_ns, 1)) - 1 for time_ns in medians_ns]
    if max(levels) - min(levels) < _LEAST_LEVELS:
        return ""
    return f"{''.join(BARS[level] for level in levels)} to {units.duration(longest_ns)}"
