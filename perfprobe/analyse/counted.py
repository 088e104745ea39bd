"""The call graph from cProfile's times, without stacks: functions only, among them C functions."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.folding import in_files
from perfprobe.tables.callgraph import CallGraph, GraphCalls, GraphFunctions, GraphOperators
from perfprobe.tables.columns import Mask
from perfprobe.tables.python import CallStructure, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_IMPORT = ("<frozen importlib",)
_STARTERS = ("<built-in method builtins.exec>", "<built-in method builtins.__import__>")


def counted_graph(trace: Trace, structure: CallStructure, roots: Mask | None, *, unfolded: bool) -> CallGraph:
    """The graph of all functions with time, in ns.

    Args:
        roots: the functions whose time is 100 %, by row of `Code`; None for all time. What they call may
            have been called by others too: cProfile does not know how much of its time that was.
        unfolded: whether to keep the import machinery, and what libraries do while they are imported.
    """
    imports = np.zeros(len(structure.python.code), np.bool_) if unfolded else _imports(trace, structure)
    rows = structure.functions
    kept = (rows.total_ns > 0) & (_reached(structure, imports)[rows.code] if bool(imports.any()) else True)
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.argsort(-rows.total_ns[chosen], kind="stable")]
    row_of = np.full(len(imports) + 1, -1, np.int32)
    row_of[rows.code[chosen]] = np.arange(len(chosen), dtype=np.int32)
    calls = structure.calls
    caller, callee = row_of[calls.caller], row_of[calls.callee]
    known = (caller >= 0) & (callee >= 0) & (calls.total_ns >= 0)
    machinery = in_files(trace, structure, _IMPORT)[rows.code] & imports[rows.code]
    return CallGraph(
        by="time",
        whole=max(int(np.maximum(rows.own_ns, 0).sum()) if roots is None else _of_roots(structure, roots), 1),
        functions=GraphFunctions(
            code=rows.code[chosen],
            calls=rows.calls[chosen],
            own=np.maximum(rows.own_ns[chosen], 0),
            total=rows.total_ns[chosen],
        ),
        calls=GraphCalls(caller[known], callee[known], calls.calls[known], calls.total_ns[known]),
        operators=GraphOperators.empty(),
        by_samples=False,
        waiting_ns=0,
        imports_ns=int(rows.total_ns[machinery].max(initial=0)),
        folded=int(np.count_nonzero(rows.total_ns > 0)) - len(chosen),
    )


def _of_roots(structure: CallStructure, roots: Mask) -> int:
    """The time of the roots, without what one of them took for another one that called it."""
    rows, calls = structure.functions, structure.calls
    inside = roots[calls.callee] & np.append(roots, False)[calls.caller] & (calls.callee != calls.caller)
    total_ns = int(rows.total_ns[roots[rows.code]].sum()) - int(calls.total_ns[inside].sum())
    return max(total_ns, int(rows.total_ns[roots[rows.code]].max(initial=0)))


def _imports(trace: Trace, structure: CallStructure) -> Mask:
    """Returns which functions belong to importing: the import machinery, and the modules of libraries."""
    strings, code = trace.recording[Strings], structure.python.code
    names = [strings[function] for function in code.function.tolist()]
    is_module = np.array([name == "<module>" for name in names], np.bool_) & (code.origin != Origin.USER)
    is_starter = np.array([name in _STARTERS for name in names], np.bool_)
    found = in_files(trace, structure, _IMPORT)
    return np.asarray(found | is_module | is_starter) if bool(found.any()) else found


def _reached(structure: CallStructure, imports: Mask) -> Mask:
    """Returns which functions are reached, without imports, from the user's functions and those nothing
    called.
    """
    calls = structure.calls
    called = np.zeros(len(imports) + 1, np.bool_)
    called[calls.callee[calls.caller >= 0]] = True
    found: Mask = (~called[:-1] | (structure.python.code.origin == Origin.USER)) & ~imports
    callees: dict[int, list[int]] = {}
    for caller, callee in zip(calls.caller.tolist(), calls.callee.tolist(), strict=True):
        callees.setdefault(caller, []).append(callee)
    todo = np.flatnonzero(found).tolist()
    while todo:
        new = [callee for callee in callees.get(todo.pop(), []) if not found[callee] and not imports[callee]]
        found[new] = True
        todo += set(new)
    return found
