"""The times and calls of functions: from samples and operators by their stacks, and from cProfile."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.paths import Paths
from perfprobe.models.waiting import stood_still
from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.python import (
    FunctionCalls,
    FunctionRows,
    Look,
    OperatorSites,
    PythonCode,
    SampledStacks,
)
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.trace import Phase, Trace

_PHASES = {
    "forward": (Phase.FORWARD,),
    "backward": (Phase.BACKWARD,),
    "recompute": (Phase.RECOMPUTE,),
    "other": (Phase.OTHER, Phase.COMPILE, Phase.DATA, Phase.OPTIMIZER),
}
_COUNTED = {
    "calls": "calls",
    "primitive_calls": "primitive_calls",
    "counted_own_ns": "own_ns",
    "counted_total_ns": "total_ns",
}


class FunctionTimes:
    """Makes the tables of functions and of their calls."""

    def __init__(
        self,
        trace: Trace,
        python: PythonCode,
        sampled: SampledStacks,
        sites: OperatorSites,
        left_out: Mask | None = None,
    ) -> None:
        """Sum the times of all sources by function and by pair of functions.

        Args:
            left_out: a mask over `Code`: functions that get no rows.
        """
        codes = len(python.code)
        self._python, self._sites = python, sites
        self._sampled = sampled.take(sampled.look == Look.READ)
        self._importing = python.imports.importer >= 0
        self._idle = _idle(trace, self._sampled)
        self._by_samples = len(python.samples) > 0
        self._has_operators = bool(np.any(sites.stack >= 0))
        self._shown = np.append(np.ones(codes, np.bool_) if left_out is None else ~left_out, True)
        self._is_python = python.code.file >= 0
        of_stack = python.of_stack[:-1]
        of_stack = np.where(self._shown[of_stack], of_stack, np.int32(-1))
        self._paths = Paths(trace.recording[Stacks].parent, of_stack, codes)
        stack = np.append(self._sampled.stack, sites.stack)
        self._seen = self._paths.total(stack, np.ones(len(stack), np.int64))
        self._sampled_ns = self._paths.total(self._sampled.stack, self._sampled.time_ns)
        self._operator_ns = self._paths.total(sites.stack, sites.self_ns)

    def functions(self) -> FunctionRows:
        """One row for each function, most total time first, or most operator time without total times."""
        counted = self._python.counted
        codes = len(self._is_python)
        unknown = np.broadcast_to(np.int64(-1), codes)  # takes no memory, and neither does a part of it
        columns: dict[str, Int64] = {}
        for name, source in _COUNTED.items():
            columns[name] = _unknown(codes)
            columns[name][counted.code] = getattr(counted, source)
        columns["own_ns"], columns["total_ns"] = columns["counted_own_ns"], columns["counted_total_ns"]
        of_stacks = self._sampled_columns() if self._by_samples else {}
        of_stacks |= self._operator_columns() if self._has_operators else {}
        for values in of_stacks.values():
            values[~self._is_python] = -1
        columns |= of_stacks
        seen = self._seen[0] > 0
        seen[counted.code] = True
        code = np.flatnonzero(seen & self._shown[:-1])
        columns["code"] = np.arange(codes)
        in_order = (columns.get(name, unknown)[code] for name in ("operator_total_ns", "total_ns"))
        code = code[np.lexsort([-column for column in in_order])]
        kinds, unknown = FunctionRows.dtypes.items(), unknown[: len(code)]
        found = {name: columns[name][code] if name in columns else unknown for name, _ in kinds}
        return FunctionRows(**{name: found[name].astype(kind, copy=False) for name, kind in kinds})

    def calls(self) -> FunctionCalls:
        """One row for each caller and callee."""
        codes = len(self._is_python)
        counted = self._python.counted_calls
        counted = counted.take(self._shown[counted.caller] & self._shown[counted.callee])
        seen = np.flatnonzero(self._seen[1])
        of_stacks = _pairs(self._paths.caller[seen], self._paths.callee[seen], codes)
        of_counted = _pairs(counted.caller, counted.callee, codes)
        pairs = distinct(np.append(of_stacks, of_counted))
        caller = (pairs // max(codes, 1) - 1).astype(np.int32)
        callee = (pairs % max(codes, 1)).astype(np.int32)
        on_stacks = np.append(self._is_python, True)[caller] & self._is_python[callee]

        def measured(values: Int64) -> Int64:
            column = np.where(on_stacks, np.int64(0), np.int64(-1))
            column[np.searchsorted(pairs, of_stacks)] = values[seen]
            return column

        def from_cprofile(values: Int64) -> Int64:
            column = _unknown(len(pairs))
            column[np.searchsorted(pairs, of_counted)] = values
            return column

        counted_ns, unknown = from_cprofile(counted.total_ns), _unknown(len(pairs))
        return FunctionCalls(
            caller=caller,
            callee=callee,
            calls=from_cprofile(counted.calls),
            total_ns=measured(self._sampled_ns[1]) if self._by_samples else counted_ns,
            counted_total_ns=counted_ns,
            operator_total_ns=measured(self._operator_ns[1]) if self._has_operators else unknown,
        )

    def _sampled_columns(self) -> dict[str, Int64]:
        sampled, own = self._sampled, self._paths.self_sums
        in_neither_ns = np.where(sampled.name < 0, sampled.time_ns, 0)
        return {
            "own_ns": own(sampled.stack, sampled.time_ns),
            "total_ns": self._sampled_ns[0],
            "neither_ns": own(sampled.stack, in_neither_ns),
            "importing_ns": own(sampled.stack, np.where(self._importing[sampled.stack], sampled.time_ns, 0)),
            "idle_ns": own(sampled.stack, np.where(self._idle, sampled.time_ns, 0)),
        }

    def _operator_columns(self) -> dict[str, Int64]:
        sites, paths = self._sites, self._paths
        columns = {
            "operator_calls": paths.self_sums(sites.stack, sites.calls),
            "operator_own_ns": paths.self_sums(sites.stack, sites.self_ns),
            "operator_total_ns": self._operator_ns[0],
        }
        for name, phases in _PHASES.items():
            rows = sites.take(np.isin(sites.phase, phases))
            columns[f"{name}_own_ns"] = paths.self_sums(rows.stack, rows.self_ns)
            columns[f"{name}_total_ns"] = paths.total(rows.stack, rows.self_ns)[0]
        return columns


def _idle(trace: Trace, sampled: SampledStacks) -> Mask:
    """Returns which rows are of an idle thread other than the main one."""
    main = trace.recording.main_thread()[sampled.thread]
    return np.asarray(~main & stood_still(trace.recording, sampled.cpu_ns, sampled.time_ns))


def _pairs(caller: Int32, callee: Int32, codes: int) -> Int64:
    """A number for each pair. Numbers are ordered by caller, then callee; the caller may be -1."""
    return (caller + np.int64(1)) * codes + callee


def _unknown(rows: int) -> Int64:
    return np.full(rows, -1, np.int64)
