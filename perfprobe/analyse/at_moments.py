"""Finds the innermost operator of a thread at given moments, while operators are read batch by batch.

Operators come in the order in which they ended: the first one that ended at or after a moment holds it, or
begins after it. In the latter case outer operators may hold it, the innermost first; the one around a row
is the next row of its thread with a smaller depth, which may come with a later batch.
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
    """Moments of one thread in order, and what they are: rows of a table.

    open: those that may be inside an operator still to come; depth: of the operator in which these were
    found last.
    """

    rows: Rows
    time_ns: Int64
    taken: int = 0
    open: Rows = field(default_factory=lambda: np.empty(0, np.intp))
    depth: Int32 = field(default_factory=lambda: np.empty(0, np.int32))


class AtMoments:
    """Finds operators for moments; a subclass says what is done with them."""

    def take(self, batch: LinkedOperators, place: Rows, rows: Rows) -> None:
        """The operators at these places of the batch hold the moments that are these rows."""
        raise NotImplementedError

    def find(self, looks: Moments, rows: LinkedOperators) -> None:
        """Takes the next operators of the thread."""
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
            # The deepest first: then one search a level is enough, and all may end at the same row.
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
        """Takes the operators at these places for the moments in them; returns those that others may hold."""
        time_ns = looks.time_ns[look]
        holds = (rows.start_ns[place] <= time_ns) & (time_ns <= rows.end_ns[place])
        holds &= rows.scope[place] != USER_SCOPE
        self.take(rows, place[holds], looks.rows[look[holds]])
        left = ~holds & (rows.depth[place] > 0)
        return look[left], place[left]
