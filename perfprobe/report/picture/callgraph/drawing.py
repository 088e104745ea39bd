"""Makes the text that dot draws from the tables of a call graph."""

from __future__ import annotations

import textwrap

from perfprobe.report import shorten
from perfprobe.report.picture.callgraph.nodes import AT_LEAST, Kind, add_apart, add_figures, whole_profile
from perfprobe.report.picture.callgraph.picture import dot
from perfprobe.report.picture.callgraph.prune import Pruned, pruned
from perfprobe.report.section.program import LONGEST_PROGRAM, program
from perfprobe.support import units
from perfprobe.support.graph_view import GraphView
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.trace import Trace

_NOTE_WIDTH = 120
_WHOLE = {
    "operator": "of operator time, forward and backward",
    "calls": "operator calls, forward and backward",
    "gpu": "on GPUs, of what operators launched; CUDA graphs left out",
}


def drawing(findings: Findings, graph: CallGraph, view: GraphView) -> str:
    """The graph in the DOT language.

    Raises:
        UsageError: the view leaves nothing to draw, or too much.
    """
    trace, structure = findings.trace, findings[CallStructure]
    left = pruned(whole_profile(trace, structure, graph), graph.whole, view)
    add_figures(left.profile, graph.whole, AT_LEAST if structure.counts_end_ns is not None else "")
    if not view.patterns and view.depth is None:
        add_apart(left.profile, graph, left.min_node * graph.whole)
    name = shorten.cut(program(trace), LONGEST_PROGRAM)
    wall = f" · wall {units.duration(findings.wall_ns)}" if findings.wall_ns is not None else ""
    notes = [
        line
        for note in _notes(graph, left, view, _counted(trace, structure))
        for line in textwrap.wrap(note, _NOTE_WIDTH)
    ]
    return dot(left.profile, f"{name}{wall} · call graph by {_by(graph)}", notes)


def _by(graph: CallGraph) -> str:
    if graph.by in ("time", "run"):
        return "time of the steps" if graph.steps else "time"
    return {"operator": "operator time", "calls": "operator calls", "gpu": "time on GPUs"}[graph.by]


def _counted(trace: Trace, structure: CallStructure) -> list[str]:
    """Returns when counting of calls ended, if it was before the end of the program."""
    if structure.counts_end_ns is None:
        return []
    when = units.duration(None if trace.start_ns is None else structure.counts_end_ns - trace.start_ns)
    return [f"{AT_LEAST}: calls of functions were counted for the first {when} only"]


def _notes(graph: CallGraph, left: Pruned, view: GraphView, counted: list[str]) -> list[str]:
    amount = units.count(graph.whole) if graph.by == "calls" else units.duration(graph.whole)
    notes = [
        f"100 %: {amount} {_whole(graph)}",
        f"boxes: share with all that is called{_own(graph)}, calls{_unknown_calls(left)}; colour: share",
        *counted,
    ]
    if graph.steps and any(node.times >= 0 for node in left.profile.functions.values() if node.is_function):
        notes.append("calls of functions are of the whole run")
    if any(node.kind is Kind.BACKWARD for node in left.profile.functions.values()):
        notes.append("operators in backward count where their forward call was made, not in backward()")
    if graph.waiting_ns:
        notes.append(f"left out: {units.duration(graph.waiting_ns)} in which other threads only waited")
    if graph.imports_ns:
        notes.append(f"left out: {units.duration(graph.imports_ns)} of imports (--library)")
    elif graph.folded:
        count = f"{units.count(graph.folded)} function{'' if graph.folded == 1 else 's'}"
        notes.append(f"left out: {count} inside libraries; their own share counts for callers (--library)")
    return notes + _left_out(left, view)


def _whole(graph: CallGraph) -> str:
    if graph.by not in ("time", "run"):
        return _WHOLE[graph.by]
    if not graph.steps and not graph.by_samples:
        return "of wall time, by cProfile"
    steps = f"{units.count(graph.steps)} step{'' if graph.steps == 1 else 's'}"
    of = f"of own time of {steps}" if graph.steps else "of wall time"
    return f"{of}, operators as measured{', the rest by samples' if graph.by_samples else ''}"


def _own(graph: CallGraph) -> str:
    return " (share in itself)" if bool(graph.functions.own.any()) else ""


def _unknown_calls(left: Pruned) -> str:
    unknown = any(node.times < 0 for node in left.profile.functions.values() if node.is_function)
    return " where counted" if unknown else ""


def _left_out(left: Pruned, view: GraphView) -> list[str]:
    counts = [(left.functions_left_out, "function"), (left.operators_left_out, "operator")]
    parts = [f"{units.count(count)} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
    chosen = "" if view.min_node is not None else ", as many as stay legible"
    threshold = f"left out: below {_percent(left.min_node)} (--min-node{chosen}), or called from there only"
    if left.is_cut:
        threshold = f"left out: all but the first {len(left.profile.functions)} by share"
    return [f"{threshold}: {' and '.join(parts)}"] if parts else []


def _percent(share: float) -> str:
    return f"{units.significant(share * 100, 2)} %"
