"""Finds the innermost operator of a thread at given moments, while operators are read batch by batch.

Operators are ordered by their ends. The first one that ends at or after a moment either contains it or begins
after it. In the latter case outer operators may contain it; they are tried from the inside out. The operator
around a row is the next row of its thread with a smaller depth, perhaps in a later batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.scopes import USER_SCOPE

MOST_LEVELS = 4096  # levels of nested operators that are searched in a batch


@dataclass
class Moments:
    """Moments of one thread in order, each with its row in a table.

    open: moments that an operator of a later batch may contain; depth: for each of these, the depth of the
    last operator tried.
    """

    rows: Rows
    time_ns: Int64
    taken: int = 0
    open: Rows = field(default_factory=lambda: np.empty(0, np.intp))
    depth: Int32 = field(default_factory=lambda: np.empty(0, np.int32))


class AtMoments:
    """Finds operators for moments; a subclass takes them."""

    def take(self, batch: LinkedOperators, place: Rows, rows: Rows) -> None:
        """Called with places in the batch and rows of moments: each operator contains its moment."""
        raise NotImplementedError

    def find(self, looks: Moments, rows: LinkedOperators) -> None:
        """Finds operators for moments in the thread's next operators."""
        end_ns = np.maximum.accumulate(rows.end_ns)
        last = max(int(np.searchsorted(looks.time_ns, end_ns[-1], side="right")), looks.taken)
        new = np.arange(looks.taken, last)
        looks.taken = last
        new, place = self._outside(looks, rows, new, np.searchsorted(end_ns, looks.time_ns[new]))
        look, depth = np.append(looks.open, new), np.append(looks.depth, rows.depth[place])
        place = np.append(np.full(len(looks.open), -1), place)
        looks.open, looks.depth = look[:0], depth[:0]
        for _ in range(MOST_LEVELS):
            if len(look) == 0:
                break
            # The deepest level first, so that one search for each level is enough.
            level = depth.max()
            now = depth == level
            outer = np.flatnonzero(rows.depth < level)
            around = np.searchsorted(outer, place[now], side="right")
            is_here = around < len(outer)
            still_open = look[now][~is_here]
            looks.open = np.append(looks.open, still_open)
            looks.depth = np.append(looks.depth, np.full(len(still_open), level, np.int32))
            left, at = self._outside(looks, rows, look[now][is_here], outer[around[is_here]])
            look, place = np.append(look[~now], left), np.append(place[~now], at)
            depth = np.append(depth[~now], rows.depth[at])

    def _outside(self, looks: Moments, rows: LinkedOperators, look: Rows, place: Rows) -> tuple[Rows, Rows]:
        """Takes the operators at these places for the moments inside them. Returns the other moments."""
        time_ns = looks.time_ns[look]
        holds = (rows.start_ns[place] <= time_ns) & (time_ns <= rows.end_ns[place])
        holds &= rows.scope[place] != USER_SCOPE
        self.take(rows, place[holds], looks.rows[look[holds]])
        left = ~holds & (rows.depth[place] > 0)
        return look[left], place[left]
