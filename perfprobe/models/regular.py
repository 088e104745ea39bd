"""Whether steps come at regular intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

_FEWEST_AGAIN = 3  # distances


def distance(steps: Sequence[int]) -> int | None:
    """The distance of steps that come at regular intervals, even if some are missing or extra; or None."""
    apart = Counter(behind - before for before, behind in pairwise(sorted(set(steps))))
    if not apart:
        return None
    distance, times = apart.most_common(1)[0]
    return distance if distance > 1 and times >= _FEWEST_AGAIN and times >= 0.5 * apart.total() else None
