"""The call graph: Python functions and the operators below them, weighted by one measure."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.python import Code
from perfprobe.tables.strings import Strings


class GraphFunctions(Table):
    """Functions of the graph."""

    code: Int32 = column("which function", Code)
    calls: Int64 = column("how many", combine=Combine.SUM, optional=True)
    own: Int64 = column("weight without what it calls, with that of folded functions", combine=Combine.SUM)
    total: Int64 = column("weight with what it calls, of recursive calls the outermost", combine=Combine.SUM)


class GraphCalls(Table):
    """Which function calls which, directly or through left-out ones."""

    caller: Int32 = column("which function", GraphFunctions)
    callee: Int32 = column("which function", GraphFunctions)
    calls: Int64 = column("how many", combine=Combine.SUM, optional=True)
    total: Int64 = column("weight", combine=Combine.SUM)


class GraphOperators(Table):
    """Operators by the function that called them, in backward that of the forward call."""

    caller: Int32 = column("which function, -1 none is known", GraphFunctions)
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("the first one of that text", Signatures)
    is_backward: Mask = column("whether it ran in backward")
    calls: Int64 = column("how many", combine=Combine.SUM)
    total: Int64 = column("what passed in the operators themselves", combine=Combine.SUM)


@frozen
class CallGraph:
    """The whole graph, nothing pruned.

    by: what weights are, one of `support.graph_view.WEIGHTS`: nanoseconds, of "calls" operator calls. whole:
    what 100 % are. by_samples: whether times are the sampler's. waiting_ns: time left out, in which threads
    other than the main one only waited; imports_ns: time left out, of imports. folded: functions of libraries
    that were left out as internal.
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
