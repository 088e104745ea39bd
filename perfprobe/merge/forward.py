"""Finds the stacks of forward operators.

A stack is one if a backward node refers to an operator with it. Python code that an operator runs (a custom
Function, a hook on saved tensors, `__torch_dispatch__`, an operator written in Python) is part of that
operator. An operator that runs a forward operator is also a forward operator.
"""

from __future__ import annotations

import numpy as np

from perfprobe.merge.nest import parents
from perfprobe.tables.columns import Int32, Mask, Rows, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.stacks import nearest

MOST_FRAMES = 8192  # frames between an operator and one inside it
MOST_LEVELS = 16  # levels of operators within operators, with Python in between, that are followed


class Entries:
    """The stacks at which an operator entered Python: directly below its own stack."""

    def __init__(self, parent: Int32) -> None:
        self._parent = parent
        self._is_entry = np.zeros(len(parent), np.bool_)

    def add(self, rows: Operators) -> None:
        """Adds operators, in the order of their ends."""
        # A parent directly follows its last child. Most programs have no rows that need more work.
        last = np.flatnonzero((rows.stack[:-1] > rows.stack[1:]) & (rows.depth[:-1] > rows.depth[1:]))
        if not bool(_is_entered(rows, last, last + 1).any()):
            return
        around = parents(rows.thread, rows.depth)
        child = np.flatnonzero((around >= 0) & (rows.stack > rows.stack[around]))
        child = child[_is_entered(rows, child, around[child])]
        pairs = distinct((rows.stack[around[child]].astype(np.int64) << 32) + rows.stack[child])
        outer, inner = pairs >> 32, pairs & 0xFFFFFFFF
        for _ in range(MOST_FRAMES):
            if len(inner) == 0:
                break
            above = self._parent[inner]
            self._is_entry[inner[above == outer]] = True
            going_on = above > outer  # of two ids on one stack the larger one is nearer to the leaf
            outer, inner = outer[going_on], above[going_on]

    def spread(self, marks: Mask) -> Mask:
        """Returns the marked stacks, and those of operators in or around them."""
        entry = nearest(self._parent, self._is_entry)
        for _ in range(MOST_LEVELS if bool(self._is_entry.any()) else 0):
            around = entry[marks]
            wider = marks.copy()
            wider[self._parent[around[around >= 0]]] = True
            wider |= nearest(self._parent, self._is_entry & wider[self._parent]) >= 0
            if bool((wider == marks).all()):
                break
            marks = wider
        return marks


def _is_entered(rows: Operators, child: Rows, around: Rows | Int32) -> Mask:
    """A mask of the pairs, outside of backward, in which the operator `around` is directly around `child`."""
    found = (rows.scope[around] == FUNCTION) & (rows.node_thread[around] < 0) & (rows.stack[around] >= 0)
    found &= (rows.depth[child] == rows.depth[around] + 1) & (rows.thread[child] == rows.thread[around])
    return np.asarray(found)
