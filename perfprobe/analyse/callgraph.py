"""The call graph: functions and operators with their weights, from stacks if there are any.

A backward operator counts under the function that made its forward call. A function's total is its own
weight plus that of all it calls, and nothing counts twice.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np

from perfprobe.analyse.counted import counted_graph
from perfprobe.analyse.folding import shown
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.paths import Paths
from perfprobe.analyse.rooted import below, matching
from perfprobe.analyse.stack_weights import StackWeights, innermost
from perfprobe.models.left_out import how_to_see_functions
from perfprobe.support.errors import InputError
from perfprobe.tables.account import LeafKind
from perfprobe.tables.callgraph import CallGraph, GraphCalls, GraphFunctions, GraphOperators
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import LoopSpent, RunSpent, Spent
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.trace import Phase, Trace

_TIMES = ("time", "run")
_OPERATOR = ("name", "overload", "signature", "is_backward")


def call_graph(
    findings: Findings, by: str | None = None, *, unfolded: bool = False, root: re.Pattern[str] | None = None
) -> CallGraph:
    """The call graph of a recording, of its call structure and its time by stack.

    Args:
        by: the weight, one of `support.graph_view.WEIGHTS`. None means time if there are samples or steps,
            else time in operators. Weights are in ns, those of "calls" are counts. Without samples of the
            whole run cProfile's times are taken.
        unfolded: whether to keep functions of libraries that only pass calls on.
        root: the graph is of matching functions and what they call, which is 100 %. If nothing matches,
            or has no weight, it is of everything.

    Raises:
        InputError: the recording has nothing with this weight.
    """
    trace, structure = findings.trace, findings.get(CallStructure)
    if structure is None:
        what = "neither operators nor Python functions were recorded"
        raise InputError(what, trace.recording.path, "record again")
    spent = findings.get(LoopSpent) or findings.get(RunSpent)
    is_timed = spent is not None and (spent.steps > 0 or structure.by_samples)
    by = by or ("time" if is_timed or not len(structure.sites) else "operator")
    spent = spent if by in _TIMES else None
    roots = matching(trace, structure, root)
    if by in _TIMES and not is_timed:
        graph = counted_graph(trace, structure, roots, unfolded=unfolded)
        if len(graph.functions) == 0:
            raise _nothing(trace, by)
        return graph
    weights = _measured(structure, by) if spent is None else _spent(trace, structure, spent)
    is_root, is_below = below(trace, structure, roots)
    if not bool(weights.weight[is_below[weights.stack]].any()):
        roots = None
        is_root, is_below = below(trace, structure, roots)
    weights = weights if roots is None else weights.take(is_below[weights.stack])
    if not int(weights.weight.sum()):
        raise _nothing(trace, by)
    of_stack = np.where(is_below[:-1], structure.python.of_stack[:-1], np.int32(-1))
    everything = Paths(trace.recording[Stacks].parent, of_stack, len(structure.python.code))
    function = of_stack
    if not unfolded:
        kept = is_root | (shown(trace, structure, weights, everything) >= 0)
        function = np.where(kept, of_stack, np.int32(-1))
    graph = _graph(by, trace, structure, weights, everything, function)
    return graph if spent is None else _of_time(graph, spent, structure, is_whole=roots is None)


def _of_time(graph: CallGraph, spent: Spent, structure: CallStructure, *, is_whole: bool) -> CallGraph:
    """The graph with what it is of; is_whole: whether of all time."""
    graph = replace(graph, steps=spent.steps, by_samples=structure.by_samples)
    if not is_whole:
        return graph
    whole = spent.whole_ns if spent.steps else graph.whole
    return replace(graph, whole=whole, waiting_ns=spent.waiting_ns, apart=spent.apart)


def _graph(
    by: str, trace: Trace, structure: CallStructure, weights: StackWeights, everything: Paths, function: Int32
) -> CallGraph:
    """The graph. everything: the paths of all functions. function: of each stack, -1 if it is left out."""
    parent, codes = trace.recording[Stacks].parent, len(structure.python.code)
    paths = Paths(parent, function, codes)
    of_function, of_pair = paths.total(weights.stack, weights.weight)
    functions, row_of = _functions(structure, weights, paths, of_function)
    inner = innermost(parent, function)
    return CallGraph(
        by=by,
        whole=int(weights.weight.sum()),
        functions=functions,
        calls=_calls(structure, paths, of_pair, row_of, _passed_over(structure, function)),
        operators=_operators(trace, weights, inner, row_of),
        by_samples=False,
        waiting_ns=0,
        imports_ns=0,
        folded=int(np.count_nonzero(everything.total(weights.stack, weights.weight)[0])) - len(functions),
        unplaced_ns=_unplaced(weights, inner),
    )


def _nothing(trace: Trace, by: str) -> InputError:
    if by in ("time", "run"):
        remedy = how_to_see_functions(trace.recording)
        return InputError("no Python functions were recorded", trace.recording.path, remedy)
    if by == "gpu":
        path, remedy = trace.recording.path, "draw what there is: --by operator"
        return InputError("no operator is known to have used a GPU", path, remedy)
    return InputError("no operators were recorded", trace.recording.path, "draw what there is: --by time")


def _measured(structure: CallStructure, by: str) -> StackWeights:
    """Operators as they were measured."""
    sites = structure.sites
    columns = {"calls": sites.calls, "operator": sites.self_ns, "gpu": np.maximum(sites.gpu_self_ns, 0)}
    weights = StackWeights(
        stack=sites.stack,
        name=sites.name,
        overload=sites.overload,
        signature=sites.signature,
        is_backward=sites.phase == Phase.BACKWARD,
        calls=sites.calls,
        weight=columns[by],
        kind=np.full(len(sites), -1, np.int8),
    )
    return weights.take(weights.weight > 0) if by == "gpu" else weights


def _spent(trace: Trace, structure: CallStructure, spent: Spent) -> StackWeights:
    """Time by stack. Of the whole run without time outside of all functions and operators."""
    rows = spent.rows
    weights = StackWeights(
        stack=rows.hanging,
        name=rows.name,
        overload=rows.overload,
        signature=rows.signature,
        is_backward=rows.phase == Phase.BACKWARD,
        calls=rows.calls,
        weight=rows.time_ns,
        kind=rows.kind,
    )
    if spent.steps:
        return weights
    inner = innermost(trace.recording[Stacks].parent, structure.python.of_stack[:-1])
    return weights.take((weights.name >= 0) | (inner[weights.stack] >= 0))


def _unplaced(weights: StackWeights, inner: Int32) -> dict[LeafKind, int]:
    """The time that is in no function and no operator."""
    rows = weights.take((weights.name < 0) & (inner[weights.stack] < 0))
    kind = np.where(rows.kind < 0, LeafKind.UNEXPLAINED, rows.kind)
    return {LeafKind(each): int(rows.weight[kind == each].sum()) for each in distinct(kind).tolist()}


def _functions(
    structure: CallStructure, weights: StackWeights, paths: Paths, total: Int64
) -> tuple[GraphFunctions, Int32]:
    """The functions, largest total first; and for each row of `Code` its row among them, -1 for none."""
    outside = weights.take(weights.name < 0)
    code = np.argsort(-total, kind="stable")[: np.count_nonzero(total > 0)]
    calls = np.full(len(total), -1, np.int64)
    calls[structure.functions.code] = structure.functions.calls
    functions = GraphFunctions(
        code=code.astype(np.int32),
        calls=calls[code],
        own=paths.self_sums(outside.stack, outside.weight)[code],
        total=total[code],
    )
    row_of = np.full(len(total) + 1, -1, np.int32)
    row_of[code] = np.arange(len(code), dtype=np.int32)
    return functions, row_of


def _calls(
    structure: CallStructure, paths: Paths, total: Int64, row_of: Int32, passed_over: Mask
) -> GraphCalls:
    # Sums of damaged times may overflow and drop a function. A call needs both of its functions.
    are_shown = (row_of[paths.caller] >= 0) & (row_of[paths.callee] >= 0)
    chosen = np.flatnonzero((total > 0) & (paths.caller >= 0) & are_shown)
    caller, callee = paths.caller[chosen], paths.callee[chosen]
    return GraphCalls(
        caller=row_of[caller],
        callee=row_of[callee],
        calls=_counted_calls(structure, paths, (caller, callee), passed_over),
        total=total[chosen],
    )


def _passed_over(structure: CallStructure, function: Int32) -> Mask:
    """Returns which functions are on stacks but never shown. One more entry at the end stands for no
    function.
    """
    found = np.zeros(len(structure.python.code) + 1, np.bool_)
    found[structure.python.of_stack] = True
    found[function] = False
    found[-1] = False
    return found


def _counted_calls(
    structure: CallStructure, paths: Paths, pairs: tuple[Int32, Int32], passed_over: Mask
) -> Int64:
    """Returns how often each caller called its callee; -1 if not known.

    If a function that is left out made some of the calls, the count is known only if the callee has a
    single caller on stacks: then it is the callee's own count.
    """
    counted = structure.calls
    keys = zip(counted.caller.tolist(), counted.callee.tolist(), strict=True)
    direct = dict(zip(keys, counted.calls.tolist(), strict=True))
    through = set(counted.callee[passed_over[counted.caller]].tolist())
    calls_of = dict(zip(structure.functions.code.tolist(), structure.functions.calls.tolist(), strict=True))
    callers = Counter(paths.callee.tolist())
    calls = []
    for caller, callee in zip(*(column.tolist() for column in pairs), strict=True):
        if callee not in through:
            calls.append(direct.get((caller, callee), -1))
        else:
            calls.append(calls_of.get(callee, -1) if callers[callee] == 1 else -1)
    return np.array(calls, np.int64)


def _operators(trace: Trace, weights: StackWeights, inner: Int32, row_of: Int32) -> GraphOperators:
    """The operators, largest weight first."""
    rows = weights.take(weights.name >= 0)
    if len(rows) == 0:
        return GraphOperators.empty()
    lines = np.append(trace.sites.frame, np.int32(-1))[rows.stack]
    keys = [inner[rows.stack], *(getattr(rows, name) for name in _OPERATOR), lines]
    weight_of, calls_of = _sums(keys, rows.weight), _sums(keys, rows.calls)
    found = sorted(weight_of, key=lambda key: (-weight_of[key], key))
    caller, name, overload, signature, is_backward, frame = np.array(found, np.int64).T
    return GraphOperators(
        caller=row_of[caller],
        name=name.astype(np.int32),
        overload=overload.astype(np.int32),
        signature=signature.astype(np.int32),
        is_backward=is_backward.astype(np.bool_),
        frame=frame.astype(np.int32),
        calls=np.array([calls_of[key] for key in found], np.int64),
        total=np.array([weight_of[key] for key in found], np.int64),
    )


def _sums(columns: list[Rows], values: Int64) -> dict[tuple[int, ...], int]:
    """The sum of the values of rows with equal columns, by these."""
    order, first = sort_by_keys(columns)
    keys = zip(*(column[order[first]].tolist() for column in columns), strict=True)
    return dict(zip(keys, np.add.reduceat(values[order], first).tolist(), strict=True))
