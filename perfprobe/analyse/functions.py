"""What each function took, and which called which: from stacks, as far as they tell, and from cProfile.

A stack is a path in the prefix tree of stacks. What a function took with all it called is the time of the
subtrees below the outermost of its places on each path: recursion counts once. The same holds for pairs of
caller and callee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.python import (
    FunctionCalls,
    FunctionRows,
    Look,
    OperatorSites,
    PythonCode,
    SampledStacks,
)
from perfprobe.tables.stacks import nearest
from perfprobe.tables.trace import Phase, Trace

_PHASES = {
    "forward": (Phase.FORWARD,),
    "backward": (Phase.BACKWARD,),
    "recompute": (Phase.RECOMPUTE,),
    "other": (Phase.OTHER, Phase.COMPILE),
}
_COUNTED = {
    "calls": "calls",
    "primitive_calls": "primitive_calls",
    "counted_own_ns": "own_ns",
    "counted_total_ns": "total_ns",
}


@dataclass(frozen=True)
class Places:
    """The tree of stacks, laid out so that a subtree is a range.

    code: the function that each stack runs, or of what is left out the one around it, -1 none; is_own:
    whether it is its own; caller: the function that called it. first, last: the range of each stack's
    subtree. All but the ranges have one more entry for "no stack".
    """

    code: Int32
    is_own: Mask
    caller: Int32
    first: Rows
    last: Rows

    def sums(self, stack: Int32, values: Int64) -> Int64:
        """What the subtree of each stack has of these values, each of which belongs to a stack (-1 none)."""
        by_place = np.zeros(len(self.first) + 1, np.int64)
        np.add.at(by_place, self.first[stack[stack >= 0]] + 1, values[stack >= 0])
        up_to = np.cumsum(by_place)
        return np.asarray(up_to[self.last] - up_to[self.first])

    def outermost(self, key: Int64) -> Rows:
        """The stacks with a key (-1 none) that no stack above them has."""
        rows = np.flatnonzero(key >= 0)
        order = rows[np.lexsort((self.first[rows], key[rows]))]
        # Subtrees lie in one another or apart: one begins before the end of all before, or after it.
        start = key[order] * (len(self.first) + 1)
        end = np.maximum.accumulate(start + self.last[order])
        is_outermost = np.ones(len(order), np.bool_)
        is_outermost[1:] = start[1:] + self.first[order[1:]] >= end[:-1]
        return order[is_outermost]


def places(trace: Trace, python: PythonCode, folded: Mask | None = None) -> Places:
    """The stacks of a trace; folded: functions left out, what they call is called by their caller."""
    none = np.int32(-1)
    code = python.of_stack[:-1]
    if folded is not None:
        code = np.where(np.append(folded, False)[code], none, code)
    parent = trace.recording.stacks.parent
    known = nearest(parent, code >= 0)
    around = np.append(known, none)[parent]
    first, last = _ranges(parent)
    all_code = np.append(code, none)
    return Places(
        all_code[np.append(known, none)], all_code >= 0, all_code[np.append(around, none)], first, last
    )


def _ranges(parent: Int32) -> tuple[Rows, Rows]:
    """For every row of a tree (parent < child) the range of its subtree, in an order in which it is one."""
    above = parent.tolist()
    size = [1] * len(above)
    for row in range(len(above) - 1, -1, -1):
        if above[row] >= 0:
            size[above[row]] += size[row]
    first = [0] * len(above)
    free = [*first, 0]  # where the next child of a row begins, that of "none" last
    for row, parent_row in enumerate(above):
        first[row] = free[parent_row]
        free[parent_row] += size[row]
        free[row] = first[row] + 1
    start = np.array(first, np.intp)
    return start, start + np.array(size, np.intp)


class FunctionSums:
    """Sums over stacks, by function and by pair of functions."""

    def __init__(self, python: PythonCode, where: Places) -> None:
        self._where = where
        self._codes = len(python.code)
        own = where.is_own[:-1]
        self.code = np.where(own, where.code[:-1], np.int32(-1))
        self.outermost = where.outermost(self.code.astype(np.int64))
        pair = (where.caller[:-1].astype(np.int64) + 1) * self._codes + self.code
        self.pairs, number = np.unique(np.where(own, pair, -1), return_inverse=True)
        number = number.reshape(-1) - (1 if len(self.pairs) and self.pairs[0] < 0 else 0)
        self.pairs = self.pairs[self.pairs >= 0]
        self.pair_of = number
        self.outermost_pairs = where.outermost(number)

    def own(self, stack: Int32, values: Int64) -> Int64:
        """By function, of values that belong to stacks."""
        code = self._where.code[stack]
        return _by(code, values, self._codes)

    def total(self, stack: Int32, values: Int64) -> tuple[Int64, Int64]:
        """By function and by pair, of values below."""
        below = self._where.sums(stack, values)
        of_function = _by(self.code[self.outermost], below[self.outermost], self._codes)
        return of_function, _by(
            self.pair_of[self.outermost_pairs], below[self.outermost_pairs], len(self.pairs)
        )


def _by(group: Int32 | Rows, values: Int64, groups: int) -> Int64:
    """Sums by group; -1 is none."""
    found = np.zeros(groups, np.int64)
    np.add.at(found, group[group >= 0], values[group >= 0])
    return found


class FunctionTimes:
    """Makes the tables of functions and of their calls."""

    def __init__(
        self,
        trace: Trace,
        python: PythonCode,
        sampled: SampledStacks,
        sites: OperatorSites,
        folded: Mask | None,
    ) -> None:
        self._python, self._sites = python, sites
        self._sampled = sampled.take((sampled.look == Look.READ) & (sampled.stack >= 0))
        self._by_samples = len(python.samples) > 0
        self._has_operators = trace.recording.operator_rows > 0
        self._shown = np.ones(len(python.code), np.bool_) if folded is None else ~folded
        self._is_python = python.code.file >= 0
        self._stacks = FunctionSums(python, places(trace, python, folded))
        self._totals()

    def functions(self) -> FunctionRows:
        """One row for each function, most total time first, of those without it most operator time."""
        python, stacks = self._python, self._stacks
        codes = len(python.code)
        columns = {name: _none(codes) for name in FunctionRows.dtypes if name != "code"}
        for name, source in _COUNTED.items():
            columns[name][python.counted.code] = getattr(python.counted, source)
        if self._by_samples:
            sampled = self._sampled
            in_neither = np.where(sampled.name < 0, sampled.time_ns, 0)
            columns["own_ns"] = self._known(stacks.own(sampled.stack, sampled.time_ns))
            columns["neither_ns"] = self._known(stacks.own(sampled.stack, in_neither))
            columns["total_ns"] = self._known(self._sampled_ns[0])
        else:
            columns["own_ns"], columns["total_ns"] = columns["counted_own_ns"], columns["counted_total_ns"]
        if self._has_operators:
            columns |= {name: self._known(column) for name, column in self._operator_columns().items()}
        seen = self._seen[0] > 0
        seen[python.counted.code] = True
        code = np.flatnonzero(seen & self._shown)
        rows = FunctionRows(code=code.astype(np.int32), **{name: c[code] for name, c in columns.items()})
        return rows.take(np.lexsort((-rows.operator_total_ns, -rows.total_ns)))

    def calls(self) -> FunctionCalls:
        """One row for each caller and callee."""
        python, stacks = self._python, self._stacks
        codes = len(python.code)
        counted = python.counted_calls
        shown = np.append(self._shown, True)
        counted = counted.take(shown[counted.caller] & shown[counted.callee])
        counted_pairs = (counted.caller.astype(np.int64) + 1) * codes + counted.callee
        seen = np.flatnonzero(self._seen[1])
        pairs = np.union1d(stacks.pairs[seen], counted_pairs)
        of_counted, of_stacks = (
            np.searchsorted(pairs, counted_pairs),
            np.searchsorted(pairs, stacks.pairs[seen]),
        )
        caller, callee = (pairs // codes - 1).astype(np.int32), (pairs % codes).astype(np.int32)
        by_stacks = np.append(self._is_python, True)[caller] & self._is_python[callee]
        columns = {
            name: _none(len(pairs)) for name in ("calls", "counted_total_ns", "total_ns", "operator_total_ns")
        }
        columns["calls"][of_counted] = counted.calls
        columns["counted_total_ns"][of_counted] = counted.total_ns
        columns["total_ns"][of_counted] = counted.total_ns
        for name, below, is_known in (
            ("total_ns", self._sampled_ns[1], self._by_samples),
            ("operator_total_ns", self._operator_ns[1], self._has_operators),
        ):
            if is_known:
                columns[name] = np.where(by_stacks, np.int64(0), np.int64(-1))
                columns[name][of_stacks] = below[seen]
        return FunctionCalls(caller=caller, callee=callee, **columns)

    def _totals(self) -> None:
        """What is needed for functions and for calls."""
        sampled, sites = self._sampled, self._sites
        stack = np.append(sampled.stack, sites.stack)
        self._seen = self._stacks.total(stack, np.ones(len(stack), np.int64))
        self._sampled_ns = self._stacks.total(sampled.stack, sampled.time_ns)
        self._operator_ns = self._stacks.total(sites.stack, sites.self_ns)

    def _operator_columns(self) -> dict[str, Int64]:
        sites, stacks = self._sites, self._stacks
        columns = {
            "operator_calls": stacks.own(sites.stack, sites.calls),
            "operator_own_ns": stacks.own(sites.stack, sites.self_ns),
            "operator_total_ns": self._operator_ns[0],
        }
        for name, phases in _PHASES.items():
            rows = sites.take(np.isin(sites.phase, phases))
            columns[f"{name}_own_ns"] = stacks.own(rows.stack, rows.self_ns)
            columns[f"{name}_total_ns"] = stacks.total(rows.stack, rows.self_ns)[0]
        return columns

    def _known(self, column: Int64) -> Int64:
        """Stacks hold Python functions only."""
        return np.where(self._is_python, column, np.int64(-1))


def _none(rows: int) -> Int64:
    return np.full(rows, -1, np.int64)
