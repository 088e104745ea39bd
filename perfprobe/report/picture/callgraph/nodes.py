"""A call graph as a profile of gprof2dot: one node for each function and each operator below a function."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from enum import Enum

from gprof2dot import TOTAL_TIME_RATIO, Call, Event, Function, Profile

from perfprobe.report import shorten
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.account import LEAF_TEXTS
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.python import CallStructure, Origin
from perfprobe.tables.spent import APART_TEXTS, ApartKind
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace, shown_name

_LONGEST_NAME = 48
_LONGEST_FILE = 60
_LONGEST_TIP = 1000
_SIGNATURE_WIDTH = 36
_SIGNATURE_LINES = 2
TIMES, AT_LEAST = "×", "≥"
_NO_CALLER = "\n(no Python function known)"

# gprof2dot writes each figure of a node on a line of its own; here all share one line.
FIGURES = Event("Figures", "", lambda one, other: one + other)


class Kind(Enum):
    """What a node stands for."""

    USER = "function of the program"
    LIBRARY = "function of a library"
    OPERATOR = "operator"
    BACKWARD = "operator in backward"
    UNPLACED = "in no function"
    APART = "not in the 100 %"


class Node(Function):
    """A function, or operators below one.

    name: the first lines of the label. search: the text that patterns match. operator: the operator's name,
    "" for a function. rows: how many operators, by signature, it stands for. own: its weight without what it
    calls. weighs: its total weight. whole: the weight of the graph. times: calls, -1 if not known.
    """

    def __init__(self, number: int, kind: Kind, name: str, search: str, *, weighs: int, times: int) -> None:
        super().__init__(number, name)
        self.kind = kind
        self.search = search
        self.filename = shorten.cut(search, _LONGEST_TIP)  # gprof2dot writes this as the tooltip
        self.operator = ""
        self.rows = 0
        self.own = 0
        self.weighs = weighs
        self.times = times

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


def whole_profile(trace: Trace, structure: CallStructure, graph: CallGraph) -> Profile:
    """The graph with every function and operator as a node of its own, heaviest first."""
    profile = Profile()
    for node in [*_functions(trace, structure, graph), *_operators(trace, graph), *_unplaced(graph)]:
        profile.add_function(node)
    calls, operators, first = graph.calls, graph.operators, len(graph.functions)
    for caller, callee, times, total in zip(*(c.tolist() for c in calls.columns().values()), strict=True):
        profile.functions[caller].add_call(Link(callee, weighs=total, times=times))
    for number, caller in enumerate(operators.caller.tolist(), first):
        if caller >= 0:
            node = profile.functions[number]
            profile.functions[caller].add_call(Link(number, weighs=node.weighs, times=node.times))
    return profile


def _unplaced(graph: CallGraph) -> Iterator[Node]:
    first = len(graph.functions) + len(graph.operators)
    for number, (kind, time_ns) in enumerate(graph.unplaced_ns.items(), first):
        text = LEAF_TEXTS[kind]
        yield Node(number, Kind.UNPLACED, text, text, weighs=time_ns, times=-1)


def add_apart(profile: Profile, graph: CallGraph, least_ns: float) -> None:
    """Add a node for each time that is no part of the graph, from least_ns on."""
    first = 1 + max(profile.functions, default=0)
    for number, (kind, time_ns, count) in enumerate(
        zip(*(column.tolist() for column in graph.apart.columns().values()), strict=True), first
    ):
        if time_ns >= least_ns:
            text = APART_TEXTS[ApartKind(kind)]
            text = text if count < 0 else f"{units.count(count)} {text}{'' if count == 1 else 's'}"
            node = Node(number, Kind.APART, text, text, weighs=0, times=-1)
            node[FIGURES] = units.duration(time_ns)
            profile.add_function(node)


def add_shares(profile: Profile, whole: int, kept: set[int], least: float) -> None:
    """Set the shares of nodes and edges, which decide about pruning and colour. kept: at least this share."""
    for node in profile.functions.values():
        node[TOTAL_TIME_RATIO] = min(max(node.weighs / whole, least if node.id in kept else 0), 1.0)
        for call in node.calls.values():
            is_kept = {node.id, call.callee_id} <= kept
            call[TOTAL_TIME_RATIO] = min(max(call.weighs / whole, least if is_kept else 0), 1.0)


def add_figures(profile: Profile, whole: int, sign: str) -> None:
    """Set the figures of nodes and edges as text. sign: is printed before the calls of functions."""
    for node in profile.functions.values():
        own = f" ({units.percent(node.own / whole)})" if node.is_function and node.own else ""
        times = _times(sign if node.is_function else "", node.times)
        node[FIGURES] = f"{units.percent(node.weighs / whole)}{own}{times}"
        for call in node.calls.values():
            # An operator has one caller, so the edge has the same figures as the node.
            if profile.functions[call.callee_id].is_function:
                call[FIGURES] = f"  {units.percent(call.weighs / whole)}{_times(sign, call.times)}"


def _times(sign: str, times: int) -> str:
    return f"  {sign}{units.count(times)}{TIMES}" if times >= 0 else ""


def _functions(trace: Trace, structure: CallStructure, graph: CallGraph) -> list[Node]:
    strings, code, rows = trace.recording[Strings], structure.python.code, graph.functions
    files = [printable(strings[file]) for file in code.file[rows.code].tolist()]
    short = _file_names(files)
    nodes = []
    for number, (row, file) in enumerate(zip(rows.code.tolist(), files, strict=True)):
        function = printable(strings[code.function[row]])
        place = f"{short[file]}:{code.first_line[row]}" if code.file[row] >= 0 else ""
        label = [shorten.cut(function, _LONGEST_NAME), _cut_start(place, _LONGEST_FILE)]
        kind = Kind.USER if code.origin[row] == Origin.USER else Kind.LIBRARY
        node = Node(
            number,
            kind,
            "\n".join(line for line in label if line),
            f"{file}:{code.first_line[row]} {function}" if place else function,
            weighs=int(rows.total[number]),
            times=int(rows.calls[number]),
        )
        node.own = int(rows.own[number])
        nodes.append(node)
    return nodes


def _operators(trace: Trace, graph: CallGraph) -> list[Node]:
    strings, rows = trace.recording[Strings], graph.operators
    nodes = []
    for number, has_caller in enumerate((rows.caller >= 0).tolist()):
        overload = strings[rows.overload[number]]
        name = shown_name(strings[rows.name[number]], narrow=True)
        name = printable(f"{name}.{overload}" if overload else name)
        signature = printable(trace.signature(int(rows.signature[number])) or "")
        kind = Kind.BACKWARD if rows.is_backward[number] else Kind.OPERATOR
        node = Node(
            len(graph.functions) + number,
            kind,
            operator_label(name, kind, shorten.signature(signature)) + ("" if has_caller else _NO_CALLER),
            f"{printable(strings[rows.name[number]])} {name} {signature} {kind.name.lower()}",
            weighs=int(rows.total[number]),
            times=int(rows.calls[number]),
        )
        node.operator = name
        node.rows = 1
        nodes.append(node)
    return nodes


def operator_label(name: str, kind: Kind, about: str) -> str:
    """The label of an operator: its name, whether it is in backward, and its signature, wrapped."""
    phase = " · backward" if kind is Kind.BACKWARD else ""
    lines = textwrap.wrap(about, _SIGNATURE_WIDTH, max_lines=_SIGNATURE_LINES, placeholder=shorten.ELLIPSIS)
    return "\n".join([shorten.cut(name, _LONGEST_NAME) + phase, *lines])


def _file_names(files: list[str]) -> dict[str, str]:
    """Short names of files; a package's `__init__.py` gets its folder."""
    names = shorten.file_names(files)
    return {
        file: "/".join(file.split("/")[-2:]) if name == "__init__.py" else name
        for file, name in names.items()
    }


def _cut_start(text: str, width: int) -> str:
    return text if len(text) <= width else shorten.ELLIPSIS + text[1 - width :]
