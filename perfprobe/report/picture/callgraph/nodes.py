"""A call graph as a profile of gprof2dot: one node for each function and each operator below a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from gprof2dot import TOTAL_TIME_RATIO, Call, Function, Profile

from perfprobe.models.code_names import searched
from perfprobe.report import shorten
from perfprobe.report.picture.callgraph.names import LONGEST_NAME, Names
from perfprobe.report.rows.measured import limit, measurements_of
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.account import LEAF_TEXTS
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Measurement
from perfprobe.tables.python import CallStructure, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import shown_name

_LONGEST_SIGNATURE = 300
_DOUBTFUL = ("not reproduced", "model error")  # verdicts that make the distance from the limit worthless


class Kind(Enum):
    """What a node stands for."""

    USER = "function of the program"
    LIBRARY = "function of a library"
    OPERATOR = "operator"
    BACKWARD = "operator in backward"
    UNPLACED = "in no function"


class Node(Function):
    """A function, or operators below one.

    name: of a function, or of the operator. search: the text that patterns match. place: of a function.
    weighs: its total weight. own: its weight without what it calls. spent: own with its operators.
    times: calls, -1 if not known. caller: of an operator, the number of its function, -1 if not known.
    lines: of an operator, the weight by line. signature: "" if they differ. rows: how many operators, by
    signature and line, it stands for. verdict: what bench measured. table: the operators in its box.
    chain: the names of functions that only call this one, outermost first.
    """

    def __init__(self, number: int, kind: Kind, name: str, search: str, *, weighs: int, times: int) -> None:
        super().__init__(number, name)
        self.kind = kind
        self.search = search
        self.weighs = weighs
        self.times = times
        self.place = self.signature = self.verdict = ""
        self.rows = self.own = self.spent = 0
        self.caller = -1
        self.lines: Counter[str] = Counter()
        self.table: list[Node] = []
        self.chain: list[str] = []

    @property
    def is_function(self) -> bool:
        """Whether it is a Python function, a C function, or time in none."""
        return self.kind not in (Kind.OPERATOR, Kind.BACKWARD)


class Link(Call):
    """A call. weighs, times: as for a node, but only for calls by this caller."""

    def __init__(self, callee: int, *, weighs: int, times: int) -> None:
        super().__init__(callee)
        self.weighs = weighs
        self.times = times


def whole_profile(findings: Findings, graph: CallGraph) -> Profile:
    """The graph with every function and operator as a node of its own, heaviest first."""
    profile = Profile()
    codes = graph.functions.code.tolist()
    names = Names(findings.trace, findings[CallStructure], codes, sorted({*graph.operators.frame.tolist()}))
    for node in [*_functions(findings, graph, names), *_operators(findings, graph, names), *_unplaced(graph)]:
        profile.add_function(node)
    columns = graph.calls.columns().values()
    for caller, callee, times, total in zip(*(column.tolist() for column in columns), strict=True):
        profile.functions[caller].add_call(Link(callee, weighs=total, times=times))
    for number, caller in enumerate(graph.operators.caller.tolist(), len(codes)):
        if caller >= 0:
            node = profile.functions[number]
            profile.functions[caller].add_call(Link(number, weighs=node.weighs, times=node.times))
            profile.functions[caller].spent += node.weighs
    return profile


def _unplaced(graph: CallGraph) -> Iterator[Node]:
    first = len(graph.functions) + len(graph.operators)
    for number, (kind, time_ns) in enumerate(graph.unplaced_ns.items(), first):
        text = LEAF_TEXTS[kind]
        yield Node(number, Kind.UNPLACED, text, text, weighs=time_ns, times=-1)


def add_shares(profile: Profile, whole: int, kept: set[int], least: float) -> None:
    """Set the shares of nodes and edges, which decide about pruning. kept: at least this share.

    Operators are rows, not edges: those are as heavy as can be.
    """
    for node in profile.functions.values():
        node[TOTAL_TIME_RATIO] = min(max(node.weighs / whole, least if node.id in kept else 0), 1.0)
        for call in node.calls.values():
            is_kept = {node.id, call.callee_id} <= kept
            share = max(call.weighs / whole, least if is_kept else 0)
            call[TOTAL_TIME_RATIO] = min(share, 1.0) if profile.functions[call.callee_id].is_function else 1.0


def _functions(findings: Findings, graph: CallGraph, names: Names) -> Iterator[Node]:
    strings, code, rows = (
        findings.trace.recording[Strings],
        findings[CallStructure].python.code,
        graph.functions,
    )
    called = set(graph.calls.callee[graph.calls.callee != graph.calls.caller].tolist())
    for number, row in enumerate(rows.code.tolist()):
        node = Node(
            number,
            Kind.USER if code.origin[row] == Origin.USER else Kind.LIBRARY,
            shorten.cut(names.title(row, number not in called), LONGEST_NAME),
            searched(strings, code, row),
            weighs=int(rows.total[number]),
            times=int(rows.calls[number]),
        )
        node.place = names.place(row)
        node.own = node.spent = int(rows.own[number])
        yield node


def _operators(findings: Findings, graph: CallGraph, names: Names) -> Iterator[Node]:
    trace, rows = findings.trace, graph.operators
    strings = trace.recording[Strings]
    code_of = [*graph.functions.code.tolist(), -1]
    verdicts = _verdicts(findings, graph)
    for number, caller in enumerate(rows.caller.tolist()):
        overload = strings[rows.overload[number]]
        name = shown_name(strings[rows.name[number]], narrow=True)
        name = printable(f"{name}.{overload}" if overload else name)
        signature = printable(trace.signature(int(rows.signature[number])) or "")
        kind = Kind.BACKWARD if rows.is_backward[number] else Kind.OPERATOR
        node = Node(
            len(graph.functions) + number,
            kind,
            name,
            f"{printable(strings[rows.name[number]])} {name} {signature} {kind.name.lower()}",
            weighs=int(rows.total[number]),
            times=int(rows.calls[number]),
        )
        node.caller, node.rows, node.verdict = caller, 1, verdicts[number]
        node.signature = shorten.cut(shorten.signature(signature), _LONGEST_SIGNATURE)
        node.lines[names.line(int(rows.frame[number]), code_of[caller])] = node.weighs
        yield node


def _verdicts(findings: Findings, graph: CallGraph) -> list[str]:
    """What bench measured for each operator, in words; "" for nothing."""
    return [_verdict(measured) if measured else "" for measured in measurements_of(findings, graph.operators)]


def _verdict(measured: Measurement) -> str:
    if measured.verdict is not None and measured.verdict.kind in _DOUBTFUL:
        return measured.verdict.kind
    bound = limit(measured)
    return f"at {units.whole_percent(bound.fraction.value)} % of its limit" if bound else ""
