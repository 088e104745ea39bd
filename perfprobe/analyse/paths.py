"""Sums over stacks, by function and by pair of caller and callee.

A stack is a path in the prefix tree of stacks. The total of a function is the sum of the subtrees at its
outermost occurrences, so recursion counts once. The same holds for pairs.
"""

from __future__ import annotations

from array import array

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Rows
from perfprobe.tables.stacks import nearest

_NONE = np.int32(-1)  # appended to a column, so that the stack -1 reads -1


class Paths:
    """The functions on each stack.

    caller, callee: the distinct pairs of a function (-1 for none) and one that it called.
    """

    def __init__(self, parent: Int32, code: Int32, codes: int) -> None:
        """Find the pairs of functions in the tree of stacks.

        Args:
            parent: the parent of each stack.
            code: the function of each stack's innermost frame, -1 for one that is left out.
            codes: how many functions there are.
        """
        self._codes = codes
        self._tree = _Tree(parent)
        known = nearest(parent, code >= 0)
        self._own_code = np.append(np.append(code, _NONE)[known], _NONE)
        caller = self._own_code[parent]
        pair = np.where(code >= 0, (caller + np.int64(1)) * codes + code, -1)
        pairs, number = np.unique(pair, return_inverse=True)
        skipped = int(np.count_nonzero(pairs < 0))
        self.caller = (pairs[skipped:] // max(codes, 1) - 1).astype(np.int32)
        self.callee = (pairs[skipped:] % max(codes, 1)).astype(np.int32)
        number = number.reshape(-1) - skipped
        self._by_function = self._tree.outermost(code), code
        self._by_pair = self._tree.outermost(number), number

    def self_sums(self, stack: Int32, values: Int64) -> Int64:
        """For each function the sum of the values whose stack (-1 none) has it as innermost function."""
        return _sums(self._own_code[stack], values, self._codes)

    def total(self, stack: Int32, values: Int64) -> tuple[Int64, Int64]:
        """For each function, and for each pair, the sum of the values whose stack (-1 none) contains it."""
        below = self._tree.sums(stack, values)
        of_function, of_pair = (
            _sums(number[rows], below[rows], size)
            for (rows, number), size in ((self._by_function, self._codes), (self._by_pair, len(self.callee)))
        )
        return of_function, of_pair


class _Tree:
    """A tree of rows, numbered in depth-first order: the subtree of a row is the range first .. last - 1."""

    def __init__(self, parent: Int32) -> None:
        rows = len(parent)
        above = array("i", parent.tobytes())  # a list would need ten times the memory
        size = array("i", [1]) * rows
        for row in range(rows - 1, -1, -1):
            if above[row] >= 0:
                size[above[row]] += size[row]
        first = array("i", [0]) * rows
        # The number of the next child of each row; the last entry counts roots.
        free = array("i", [0]) * (rows + 1)
        for row, around in enumerate(above):
            first[row] = free[around]
            free[around] += size[row]
            free[row] = first[row] + 1
        self._first: Rows = np.array(first, np.intp)
        self._last: Rows = self._first + np.array(size, np.intp)

    def sums(self, rows: Int32, values: Int64) -> Int64:
        """For each subtree the sum of the values of its rows (-1 none)."""
        places = np.append(self._first + 1, 0)[rows]
        up_to = np.cumsum(_sums(places, np.where(rows >= 0, values, 0), len(self._first) + 1))
        return np.asarray(up_to[self._last] - up_to[self._first])

    def outermost(self, key: Int32 | Rows) -> Rows:
        """The rows that have a key (-1 none) which none of their ancestors has."""
        rows = np.flatnonzero(key >= 0)
        order = rows[np.lexsort((self._first[rows], key[rows]))]
        # Two subtrees are nested or disjoint. One is nested if it begins before all earlier ones have ended.
        offset = key[order].astype(np.int64) * (len(self._first) + 1)
        ended = np.maximum.accumulate(offset + self._last[order])
        is_outermost = np.ones(len(order), np.bool_)
        is_outermost[1:] = (offset + self._first[order])[1:] >= ended[:-1]
        return order[is_outermost]


def _sums(group: Int32 | Rows, values: Int64, groups: int) -> Int64:
    """The sum of each group; rows of group -1 are left out."""
    found = np.zeros(groups, np.int64)
    np.add.at(found, group[group >= 0], values[group >= 0])
    return found
