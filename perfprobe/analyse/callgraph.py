"""The call graph: functions and operators with their weights, from stacks if there are any.

A backward operator counts under the function that made its forward call. A function's total is its own
weight plus that of all it calls, and nothing counts twice.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.analyse.counted import counted_graph
from perfprobe.analyse.folding import shown
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.load import Load, innermost
from perfprobe.analyse.paths import Paths
from perfprobe.analyse.sites import hanging_stack
from perfprobe.models.left_out import how_to_see_functions
from perfprobe.support.errors import InputError
from perfprobe.tables.callgraph import CallGraph, GraphCalls, GraphFunctions, GraphOperators
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.python import Calling
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.trace import Phase, Trace

_BUSY = 0.1  # a thread other than the main one that uses a smaller share of CPU time only waits
_OPERATOR = ("name", "overload", "signature", "is_backward")


def call_graph(trace: Trace, calling: Calling, by: str | None = None, *, unfolded: bool = False) -> CallGraph:
    """The call graph of a recording.

    Args:
        by: the weight, one of `support.graph_view.WEIGHTS`. None means sampled time if there are samples,
            else time in operators. Weights are in ns, those of "calls" are counts.
        unfolded: whether to keep functions of libraries that only pass calls on.

    Raises:
        InputError: the recording has nothing with this weight.
    """
    by = by or ("time" if calling.by_samples or not len(calling.sites) else "operator")
    if by == "time" and not calling.by_samples:
        graph = counted_graph(trace, calling, unfolded=unfolded)
        if len(graph.functions) == 0:
            raise _nothing(trace, by)
        return graph
    load, waiting_ns = _sampled(trace, calling) if by == "time" else (_measured(calling, by), 0)
    if not int(load.weight.sum()):
        raise _nothing(trace, by)
    parent, of_stack = trace.recording[Stacks].parent, calling.python.of_stack[:-1]
    codes = len(calling.python.code)
    everything = Paths(parent, of_stack, codes)
    function = of_stack if unfolded else shown(trace, calling, load, everything)
    paths = everything if unfolded else Paths(parent, function, codes)
    of_function, of_pair = paths.total(load.stack, load.weight)
    functions, row_of = _functions(calling, load, paths, of_function)
    return CallGraph(
        by=by,
        whole=int(load.weight.sum()),
        functions=functions,
        calls=_calls(calling, paths, of_pair, row_of, _passed_over(calling, function)),
        operators=_operators(calling, load, innermost(parent, function), row_of),
        by_samples=by == "time",
        waiting_ns=waiting_ns,
        imports_ns=0,
        folded=int(np.count_nonzero(everything.total(load.stack, load.weight)[0])) - len(functions),
    )


def _nothing(trace: Trace, by: str) -> InputError:
    if by == "time":
        remedy = how_to_see_functions(trace.recording)
        return InputError("no Python functions were recorded", trace.recording.path, remedy)
    if by == "gpu":
        path, remedy = trace.recording.path, "draw what there is: --by operator"
        return InputError("no operator is known to have used a GPU", path, remedy)
    return InputError("no operators were recorded", trace.recording.path, "draw what there is: --by time")


def _measured(calling: Calling, by: str) -> Load:
    """Operators as they were measured."""
    sites = calling.sites
    weights = {"calls": sites.calls, "operator": sites.self_ns, "gpu": np.maximum(sites.gpu_self_ns, 0)}
    load = Load(
        stack=sites.stack,
        name=sites.name,
        overload=sites.overload,
        signature=sites.signature,
        is_backward=sites.phase == Phase.BACKWARD,
        weight=weights[by],
    )
    return load.take(load.weight > 0) if by == "gpu" else load


def _sampled(trace: Trace, calling: Calling) -> tuple[Load, int]:
    """Sampled time, and the time left out because threads other than the main one only waited, in ns."""
    rows = calling.sampled
    waits = _beside_main(trace, rows.thread) & (rows.name < 0)
    waits &= (rows.stack < 0) | ((rows.cpu_ns >= 0) & (rows.cpu_ns < _BUSY * rows.time_ns))
    load = Load(
        stack=hanging_stack(trace, rows.stack, rows.forward_stack),
        name=rows.name,
        overload=rows.overload,
        signature=rows.signature,
        is_backward=rows.phase == Phase.BACKWARD,
        weight=rows.time_ns,
    )
    # Time outside of all functions and operators has no place in the graph.
    outside = (load.name < 0) & (
        innermost(trace.recording[Stacks].parent, calling.python.of_stack[:-1])[load.stack] < 0
    )
    return load.take(~waits & ~outside), int(rows.time_ns[waits].sum())


def _beside_main(trace: Trace, thread: Int32) -> Mask:
    """Returns which rows are of a thread other than the main one; none if the main thread is not known."""
    is_main = trace.recording.main_thread()
    return ~is_main[thread] if bool(is_main.any()) else np.zeros(len(thread), np.bool_)


def _functions(calling: Calling, load: Load, paths: Paths, total: Int64) -> tuple[GraphFunctions, Int32]:
    """The functions, largest total first; and for each row of `Code` its row among them, -1 for none."""
    outside = load.take(load.name < 0)
    code = np.argsort(-total, kind="stable")[: np.count_nonzero(total > 0)]
    calls = np.full(len(total), -1, np.int64)
    calls[calling.functions.code] = calling.functions.calls
    functions = GraphFunctions(
        code=code.astype(np.int32),
        calls=calls[code],
        own=paths.self_sums(outside.stack, outside.weight)[code],
        total=total[code],
    )
    row_of = np.full(len(total) + 1, -1, np.int32)
    row_of[code] = np.arange(len(code), dtype=np.int32)
    return functions, row_of


def _calls(calling: Calling, paths: Paths, total: Int64, row_of: Int32, passed_over: Mask) -> GraphCalls:
    # Sums of damaged times may overflow and drop a function. A call needs both of its functions.
    are_shown = (row_of[paths.caller] >= 0) & (row_of[paths.callee] >= 0)
    chosen = np.flatnonzero((total > 0) & (paths.caller >= 0) & are_shown)
    caller, callee = paths.caller[chosen], paths.callee[chosen]
    return GraphCalls(
        caller=row_of[caller],
        callee=row_of[callee],
        calls=_counted_calls(calling, paths, (caller, callee), passed_over),
        total=total[chosen],
    )


def _passed_over(calling: Calling, function: Int32) -> Mask:
    """Returns which functions are on stacks but never shown. One more entry at the end stands for no
    function.
    """
    found = np.zeros(len(calling.python.code) + 1, np.bool_)
    found[calling.python.of_stack] = True
    found[function] = False
    found[-1] = False
    return found


def _counted_calls(calling: Calling, paths: Paths, pairs: tuple[Int32, Int32], passed_over: Mask) -> Int64:
    """Returns how often each caller called its callee; -1 if not known.

    If a function that is left out made some of the calls, the count is known only if the callee has a
    single caller on stacks: then it is the callee's own count.
    """
    counted = calling.calls
    keys = zip(counted.caller.tolist(), counted.callee.tolist(), strict=True)
    direct = dict(zip(keys, counted.calls.tolist(), strict=True))
    through = set(counted.callee[passed_over[counted.caller]].tolist())
    calls_of = dict(zip(calling.functions.code.tolist(), calling.functions.calls.tolist(), strict=True))
    callers = Counter(paths.callee.tolist())
    calls = []
    for caller, callee in zip(*(column.tolist() for column in pairs), strict=True):
        if callee not in through:
            calls.append(direct.get((caller, callee), -1))
        else:
            calls.append(calls_of.get(callee, -1) if callers[callee] == 1 else -1)
    return np.array(calls, np.int64)


def _operators(calling: Calling, load: Load, inner: Int32, row_of: Int32) -> GraphOperators:
    """The operators, largest weight first."""
    rows = load.take(load.name >= 0)
    if len(rows) == 0:
        return GraphOperators.empty()
    weight_of = _by_caller(rows, inner)
    calls_of = _by_caller(_measured(calling, "calls"), inner)
    found = sorted(weight_of, key=lambda key: (-weight_of[key], key))
    caller, *keys = np.array(found, np.int64).T
    name, overload, signature, is_backward = keys
    return GraphOperators(
        caller=row_of[caller],
        name=name.astype(np.int32),
        overload=overload.astype(np.int32),
        signature=signature.astype(np.int32),
        is_backward=is_backward.astype(np.bool_),
        calls=np.array([calls_of.get(key, -1) for key in found], np.int64),
        total=np.array([weight_of[key] for key in found], np.int64),
    )


def _by_caller(load: Load, inner: Int32) -> dict[tuple[int, ...], int]:
    """The weight of each function's operators by row of `Code`, name, overload, signature, is_backward."""
    if len(load) == 0:
        return {}
    columns = [inner[load.stack], *(getattr(load, name) for name in _OPERATOR)]
    order, first = sort_by_keys(columns)
    keys = zip(*(column[order[first]].tolist() for column in columns), strict=True)
    return dict(zip(keys, np.add.reduceat(load.weight[order], first).tolist(), strict=True))
