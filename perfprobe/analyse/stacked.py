"""What weighs on stacks, summed by the functions that stand on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask, Table
from perfprobe.tables.stacks import nearest


@dataclass(frozen=True)
class Load(Table):
    """Weight by the stack that it hangs under (-1 none) and the operator that it passed in (name -1: none)."""

    stack: Int32
    name: Int32
    overload: Int32
    signature: Int32
    is_backward: Mask
    weight: Int64

    def by_stack(self, stacks: int) -> Int64:
        """What hangs directly under each of so many stacks."""
        known = self.stack >= 0
        found = np.zeros(stacks, np.int64)
        np.add.at(found, self.stack[known], self.weight[known])
        return found


class Totals(NamedTuple):
    """Sums over stacks. of_function: with all below; of_call: the same by (caller, callee)."""

    of_function: Int64
    of_call: dict[tuple[int, int], int]


def totals(parent: Int32, function: Int32, functions: int, weight: Int64) -> Totals:
    """The weight of all stacks on which a function stands, and of those on which it calls another.

    A stack on which it stands several times counts once.

    Args:
        parent: of each stack, less than its own id, -1 none.
        function: the innermost of each stack, less than `functions`; -1 for one that is passed over.
        weight: what hangs directly under each stack.
    """
    below = weight.tolist()
    parents, functions_of = parent.tolist(), function.tolist()
    children: dict[int, list[int]] = {}
    for stack in range(len(parents) - 1, -1, -1):
        if below[stack]:
            children.setdefault(parents[stack], []).append(stack)
            if parents[stack] >= 0:
                below[parents[stack]] += below[stack]
    walk = _Walk(functions)
    todo = [(stack, -1, True) for stack in children.get(-1, [])]
    while todo:
        stack, above, entering = todo.pop()
        own = functions_of[stack]
        if not entering:
            walk.leave(above, own)
            continue
        if own >= 0:
            walk.enter(above, own, below[stack])
            todo.append((stack, above, False))
        inner = own if own >= 0 else above
        todo += [(child, inner, True) for child in children.get(stack, [])]
    return Totals(np.array(walk.total, np.int64), walk.of_call)


class _Walk:
    """Where a walk through the tree of stacks is, and what it has summed."""

    def __init__(self, functions: int) -> None:
        self.total = [0] * functions
        self.of_call: dict[tuple[int, int], int] = {}
        self._open = [0] * functions
        self._open_calls: dict[tuple[int, int], int] = {}

    def enter(self, above: int, own: int, weight: int) -> None:
        if self._open[own] == 0:
            self.total[own] += weight
        self._open[own] += 1
        if above < 0:
            return
        call = above, own
        if self._open_calls.get(call, 0) == 0:
            self.of_call[call] = self.of_call.get(call, 0) + weight
        self._open_calls[call] = self._open_calls.get(call, 0) + 1

    def leave(self, above: int, own: int) -> None:
        self._open[own] -= 1
        if above >= 0:
            self._open_calls[above, own] -= 1


def innermost(parent: Int32, function: Int32) -> Int32:
    """The innermost function of each stack that is not passed over, with one more entry, -1, for no stack."""
    row = nearest(parent, function >= 0)
    found = np.where(row >= 0, function[row] if len(function) else row, -1)
    return np.append(found, -1).astype(np.int32)
