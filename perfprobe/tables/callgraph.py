"""The call graph: Python functions and the operators below them, weighted by one measure."""

from __future__ import annotations

from dataclasses import dataclass

from perfprobe.tables.columns import Int32, Int64, Mask, Table


@dataclass(frozen=True)
class GraphFunctions(Table):
    """Functions. code: row of `Code`; calls: -1 not known; own, total: weight without and with what it calls.

    Of recursive calls only the outermost adds to total. own holds that of folded functions below it.
    """

    code: Int32
    calls: Int64
    own: Int64
    total: Int64


@dataclass(frozen=True)
class GraphCalls(Table):
    """Which function calls which, directly or through folded ones. caller, callee: rows of `GraphFunctions`.

    calls: -1 not known.
    """

    caller: Int32
    callee: Int32
    calls: Int64
    total: Int64


@dataclass(frozen=True)
class GraphOperators(Table):
    """Operators by the function they hang under, in backward that of the forward call.

    caller: row of `GraphFunctions`, -1 none is known. name, overload: string ids; signature: the first one of
    that text. total: what passed in the operator itself.
    """

    caller: Int32
    name: Int32
    overload: Int32
    signature: Int32
    is_backward: Mask
    calls: Int64
    total: Int64


@dataclass(frozen=True)
class CallGraph:
    """The whole graph, nothing pruned.

    by: what weights are, one of `support.graph_view.WEIGHTS`: nanoseconds, of "calls" operator calls. whole:
    what 100 % are. by_samples: whether times are the sampler's. waiting_ns: time left out in which threads
    beside the main one only waited; imports_ns: left out as that of imports. folded: functions of libraries
    that were left out as inside of them.
    """

    by: str
    whole: int
    functions: GraphFunctions
    calls: GraphCalls
    operators: GraphOperators
    by_samples: bool
    waiting_ns: int
    imports_ns: int
    folded: int
