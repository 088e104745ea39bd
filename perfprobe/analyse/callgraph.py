"""The call graph: functions and operators with their weights, taken from whole stacks wherever there are any.

A backward operator hangs under the function that made its forward call, and counts there: each function's
total is its own and that of all below it, and nothing counts twice.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.analyse.folding import folded
from perfprobe.analyse.grouping import grouped
from perfprobe.analyse.stacked import Load, Totals, innermost, totals
from perfprobe.support.errors import InputError
from perfprobe.tables.callgraph import CallGraph, GraphCalls, GraphFunctions, GraphOperators
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.python import Calling
from perfprobe.tables.trace import Phase, Trace

_BUSY = 0.1  # CPU time in its time from which a thread beside the main one does not only wait
_OPERATOR = ("name", "overload", "signature", "is_backward")


def call_graph(trace: Trace, calling: Calling, by: str | None = None, *, library: bool = False) -> CallGraph:
    """The call graph of a recording.

    Args:
        by: one of `support.graph_view.WEIGHTS`; None for time where it was sampled, else operator time.
        library: whether functions of libraries that only pass on stay.

    Raises:
        InputError: nothing was recorded that this weight could be taken from.
    """
    by = by or ("time" if calling.by_samples or not len(calling.sites) else "operator")
    if by == "time" and not calling.by_samples:
        return _counted(trace, calling)
    load, waiting_ns = _sampled(trace, calling) if by == "time" else (_measured(calling, by), 0)
    if not int(load.weight.sum()):
        raise _nothing(trace, by)
    code, of_stack = calling.python.code, calling.python.of_stack[:-1]
    is_folded = np.zeros(len(code), np.bool_) if library else folded(trace, calling, load)
    kept = np.where(np.append(is_folded, True)[of_stack], np.int32(-1), of_stack)
    parent = trace.recording.stacks.parent
    found = totals(parent, kept, len(code), load.by_stack(len(parent)))
    inner = innermost(parent, kept)
    functions, row_of = _functions(calling, found, load, inner)
    return CallGraph(
        by=by,
        whole=int(load.weight.sum()),
        functions=functions,
        calls=_calls(calling, found, row_of, functions, is_folded),
        operators=_operators(calling, load, inner, row_of),
        by_samples=by == "time",
        waiting_ns=waiting_ns,
        folded=int(np.count_nonzero(is_folded)),
    )


def _nothing(trace: Trace, by: str) -> InputError:
    if by == "time":
        return InputError("no Python functions were recorded", trace.recording.path, "record with --python both")
    return InputError("no operators were recorded", trace.recording.path, "draw what there is: --by time")


def _measured(calling: Calling, by: str) -> Load:
    """Operators as they were measured."""
    sites = calling.sites
    return Load(
        stack=sites.stack,
        name=sites.name,
        overload=sites.overload,
        signature=sites.signature,
        is_backward=sites.phase == Phase.BACKWARD,
        weight=sites.calls if by == "calls" else sites.self_ns,
    )


def _sampled(trace: Trace, calling: Calling) -> tuple[Load, int]:
    """Time by samples, and how much of it was left out in which threads beside the main one only waited."""
    rows = calling.sampled
    # Python of the user's that ran in backward is a place of its own, as it is for measured operators.
    has_own = np.append(trace.sites.inside_frame >= 0, False)[rows.stack]
    waits = _beside_main(trace, rows.thread) & (rows.name < 0)
    waits &= (rows.stack < 0) | ((rows.cpu_ns >= 0) & (rows.cpu_ns < _BUSY * rows.time_ns))
    load = Load(
        stack=np.where((rows.forward_stack >= 0) & ~has_own, rows.forward_stack, rows.stack),
        name=rows.name,
        overload=rows.overload,
        signature=rows.signature,
        is_backward=rows.phase == Phase.BACKWARD,
        weight=rows.time_ns,
    )
    return load.take(~waits), int(rows.time_ns[waits].sum())


def _beside_main(trace: Trace, thread: Int32) -> Mask:
    """Which rows are of another thread than the main one, where that is known."""
    process = trace.recording.number("program", "pid")
    is_main = trace.recording.threads.os_thread == (-1 if process is None else int(process))
    if not bool(is_main.any()):
        return np.zeros(len(thread), np.bool_)
    return ~np.append(is_main, False)[thread]


def _functions(
    calling: Calling, found: Totals, load: Load, inner: Int32
) -> tuple[GraphFunctions, dict[int, int]]:
    """The functions in the graph, most first, and the row of each row of `Code`."""
    outside = load.name < 0
    own = np.zeros(len(found.of_function) + 1, np.int64)
    np.add.at(own, inner[load.stack[outside]], load.weight[outside])
    chosen = np.flatnonzero(found.of_function > 0)
    chosen = chosen[np.argsort(-found.of_function[chosen], kind="stable")]
    functions = GraphFunctions(
        code=chosen.astype(np.int32),
        calls=_calls_of_code(calling, len(found.of_function))[chosen],
        own=own[chosen],
        total=found.of_function[chosen],
    )
    return functions, {code: row for row, code in enumerate(chosen.tolist())}


def _calls_of_code(calling: Calling, codes: int) -> Int64:
    calls = np.full(codes, -1, np.int64)
    calls[calling.functions.code] = calling.functions.calls
    return calls


def _calls(
    calling: Calling, found: Totals, row_of: dict[int, int], functions: GraphFunctions, is_folded: Mask
) -> GraphCalls:
    pairs = sorted((row_of[caller], row_of[callee]) for caller, callee in found.of_call)
    code = functions.code.tolist()
    codes = [(code[caller], code[callee]) for caller, callee in pairs]
    return GraphCalls(
        caller=np.array([caller for caller, _ in pairs], np.int32),
        callee=np.array([callee for _, callee in pairs], np.int32),
        calls=_calls_of_pairs(calling, codes, functions, is_folded),
        total=np.array([found.of_call[pair] for pair in codes], np.int64),
    )


def _calls_of_pairs(
    calling: Calling, pairs: list[tuple[int, int]], functions: GraphFunctions, is_folded: Mask
) -> Int64:
    """How often each called the other; not known of a function that folded ones call, unless for one caller."""
    counted = calling.calls
    counted_pairs = zip(counted.caller.tolist(), counted.callee.tolist(), strict=True)
    direct = dict(zip(counted_pairs, counted.calls.tolist(), strict=True))
    through = set(counted.callee[np.append(is_folded, False)[counted.caller]].tolist())
    calls_of = dict(zip(functions.code.tolist(), functions.calls.tolist(), strict=True))
    callers = Counter(callee for caller, callee in pairs if caller != callee)
    calls = []
    for caller, callee in pairs:
        if callers[callee] == 1 and caller != callee and (callee, callee) not in direct:
            calls.append(calls_of[callee])
        else:
            calls.append(-1 if callee in through else direct.get((caller, callee), -1))
    return np.array(calls, np.int64)


def _operators(calling: Calling, load: Load, inner: Int32, row_of: dict[int, int]) -> GraphOperators:
    """The operators, most first."""
    rows = load.take(load.name >= 0)
    if len(rows) == 0:
        return GraphOperators.empty()
    weight_of = _by_caller(rows, inner)
    calls_of = _by_caller(_measured(calling, "calls"), inner)
    found = sorted(weight_of, key=lambda key: (-weight_of[key], key))
    caller, *keys = np.array(found, np.int64).T
    name, overload, signature, is_backward = keys
    row = np.array([row_of.get(code, -1) for code in caller.tolist()], np.int32)
    return GraphOperators(
        caller=row,
        name=name.astype(np.int32),
        overload=overload.astype(np.int32),
        signature=signature.astype(np.int32),
        is_backward=is_backward.astype(np.bool_),
        calls=np.array([calls_of.get(key, -1) for key in found], np.int64),
        total=np.array([weight_of[key] for key in found], np.int64),
    )


def _by_caller(load: Load, inner: Int32) -> dict[tuple[int, ...], int]:
    """The weight of each function's operators, by row of `Code`, name, overload, signature and phase."""
    if len(load) == 0:
        return {}
    columns = [inner[load.stack], *(getattr(load, name) for name in _OPERATOR)]
    order, first = grouped(columns)
    keys = zip(*(column[order[first]].tolist() for column in columns), strict=True)
    return dict(zip(keys, np.add.reduceat(load.weight[order], first).tolist(), strict=True))


def _counted(trace: Trace, calling: Calling) -> CallGraph:
    """The graph by cProfile's times, which has no stacks: functions only, C functions among them."""
    rows = calling.functions
    chosen = np.flatnonzero(rows.total_ns > 0)
    if len(chosen) == 0:
        raise _nothing(trace, "time")
    chosen = chosen[np.argsort(-rows.total_ns[chosen], kind="stable")]
    functions = GraphFunctions(
        rows.code[chosen], rows.calls[chosen], np.maximum(rows.own_ns[chosen], 0), rows.total_ns[chosen]
    )
    row_of = np.full(len(calling.python.code) + 1, -1, np.int32)
    row_of[functions.code] = np.arange(len(chosen), dtype=np.int32)
    calls = calling.calls
    caller, callee = row_of[calls.caller], row_of[calls.callee]
    known = (caller >= 0) & (callee >= 0) & (calls.total_ns >= 0)
    return CallGraph(
        by="time",
        whole=max(int(functions.own.sum()), 1),
        functions=functions,
        calls=GraphCalls(caller[known], callee[known], calls.calls[known], calls.total_ns[known]),
        operators=GraphOperators.empty(),
        by_samples=False,
        waiting_ns=0,
        folded=0,
    )
