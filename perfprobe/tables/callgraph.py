"""The call graph: Python functions and the operators below them, weighted by one measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perfprobe.support.frozen import frozen
from perfprobe.tables.account import LeafKind
from perfprobe.tables.columns import Combine, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.python import Code
from perfprobe.tables.spent import ApartTimes
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class GraphFunctions(Table):
    """Functions of the graph."""

    code: Int32 = column("the function", Code)
    calls: Int64 = column("number of calls", combine=Combine.SUM, optional=True)
    own: Int64 = column("weight without the functions it calls, except folded ones", combine=Combine.SUM)
    total: Int64 = column(
        "weight with what it calls; of recursive calls only the outermost", combine=Combine.SUM
    )


class GraphCalls(Table):
    """Which function calls which, directly or through functions that are left out."""

    caller: Int32 = column("the calling function", GraphFunctions)
    callee: Int32 = column("the called function", GraphFunctions)
    calls: Int64 = column("number of calls", combine=Combine.SUM, optional=True)
    total: Int64 = column("weight", combine=Combine.SUM)


class GraphOperators(Table):
    """Operators by function and line that called them; operators in backward by those of the forward call."""

    caller: Int32 = column("the calling function, -1 if not known", GraphFunctions)
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs: the first signature with this text", Signatures)
    is_backward: Mask = column("whether it ran in backward")
    frame: Int32 = column("the user's line that called it, -1 if not known", Frames)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    total: Int64 = column("weight of the operators themselves", combine=Combine.SUM)


@frozen
class CallGraph:
    """The whole call graph.

    Attributes:
        by: the measure, one of `support.graph_view.WEIGHTS`. Weights are nanoseconds, for "calls" operator
            calls.
        whole: the weight that is 100 %.
        by_samples: whether samples divide the time between operators.
        waiting_ns: omitted time in which threads other than the main one only waited.
        imports_ns: omitted time of imports.
        folded: number of functions of libraries that were left out as internal.
        steps: the number of steps whose own time is 100 %, 0 if it is the whole run's.
        unplaced_ns: time that is in no function and no operator, by what is known of it.
        apart: what the run has beside the 100 %.
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
    steps: int = 0
    unplaced_ns: Mapping[LeafKind, int] = field(default_factory=dict)
    apart: ApartTimes = field(default_factory=ApartTimes.empty)
