"""Makes the text that dot draws from the tables of a call graph."""

from __future__ import annotations

import textwrap

from perfprobe.report import shorten
from perfprobe.report.picture.callgraph.nodes import Kind, whole_profile
from perfprobe.report.picture.callgraph.picture import Captions, dot
from perfprobe.report.picture.callgraph.prune import Pruned, pruned
from perfprobe.report.section.program import program
from perfprobe.support import units
from perfprobe.support.graph_view import GraphView
from perfprobe.support.text import printable
from perfprobe.tables.callgraph import CallGraph
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import APART_TEXTS, ApartKind
from perfprobe.tables.trace import Trace

_NOTE_WIDTH = 140
_LONGEST_NAME = 60
_AT_LEAST = "≥"
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
    left = pruned(whole_profile(findings, graph), graph.whole, view)
    name = shorten.cut(shorten.without_folders(program(trace)), _LONGEST_NAME)
    wall = f" · wall {units.duration(findings.wall_ns)}" if findings.wall_ns is not None else ""
    notes = _notes(graph, left, view, _counted(trace, structure))
    captions = Captions(
        title=f"{name}{wall} · call graph by {_by(graph)}",
        notes=[line for note in notes for line in textwrap.wrap(note, _NOTE_WIDTH)],
        whole=graph.whole,
        sign=_AT_LEAST if structure.counts_end_ns is not None else "",
        is_bounded=view.min_node is None,
    )
    return dot(left.profile, captions)


def _by(graph: CallGraph) -> str:
    if graph.by in ("time", "run"):
        return "time of the steps" if graph.steps else "time"
    return {"operator": "operator time", "calls": "operator calls", "gpu": "time on GPUs"}[graph.by]


def _counted(trace: Trace, structure: CallStructure) -> str:
    """Returns when counting of calls ended, if it was before the end of the program."""
    if structure.counts_end_ns is None:
        return ""
    when = units.duration(None if trace.start_ns is None else structure.counts_end_ns - trace.start_ns)
    return f"{_AT_LEAST}: calls of functions were counted for the first {when} only"


def _notes(graph: CallGraph, left: Pruned, view: GraphView, counted: str) -> list[str]:
    amount = units.count(graph.whole) if graph.by == "calls" else units.duration(graph.whole)
    rooted = f", in what --root {printable(view.root)} matches" if view.root is not None else ""
    boxes = [node for node in left.profile.functions.values() if node.kind is not Kind.UNPLACED]
    own = ", own: in itself" if any(node.own for node in boxes) else ""
    counts = [
        " where counted" if any(node.times < 0 for node in boxes) else "",
        " of the whole run" if graph.steps and any(node.times >= 0 for node in boxes) else "",
    ]
    about = [f"boxes: share with all that is called{own}; calls{''.join(counts)}"]
    if any(row.kind is Kind.BACKWARD for node in left.profile.functions.values() for row in node.table):
        about.append("Backward counts where its forward call was made")
    if view.root is not None and not graph.steps and not graph.by_samples and graph.by in ("time", "run"):
        about.append("Calls from elsewhere count too: cProfile does not know how much of the time they are")
    lines = [f"100 %: {amount} {_whole(graph)}{rooted}", ". ".join(about), counted, _beside(graph, left)]
    return [line for line in [*lines, _left_out(graph, left, view)] if line]


def _beside(graph: CallGraph, left: Pruned) -> str:
    """The times that are no part of the graph, from the smallest share that is drawn on."""
    columns = (column.tolist() for column in graph.apart.columns().values())
    parts = [
        f"{_apart(ApartKind(kind), count)} {units.duration(time_ns)}"
        for kind, time_ns, count in zip(*columns, strict=True)
        if time_ns >= left.min_node * graph.whole
    ]
    if graph.waiting_ns:
        parts.append(f"{units.duration(graph.waiting_ns)} in which other threads only waited")
    if graph.imports_ns:
        parts.append(f"{units.duration(graph.imports_ns)} of imports (--library)")
    return f"not in the 100 %: {', '.join(parts)}" if parts else ""


def _apart(kind: ApartKind, count: int) -> str:
    text = APART_TEXTS[kind]
    if count < 0:
        return text
    return f"{units.count(count)} {text if count == 1 else text.replace('step', 'steps', 1)}"


def _whole(graph: CallGraph) -> str:
    if graph.by not in ("time", "run"):
        return _WHOLE[graph.by]
    if not graph.steps and not graph.by_samples:
        return "of wall time, by cProfile"
    steps = f"{units.count(graph.steps)} step{'' if graph.steps == 1 else 's'}"
    of = f"of own time of {steps}" if graph.steps else "of wall time"
    return f"{of}, operators as measured{', the rest by samples' if graph.by_samples else ''}"


def _left_out(graph: CallGraph, left: Pruned, view: GraphView) -> str:
    counts = [(left.functions_left_out, "function"), (left.operators_left_out, "operator")]
    parts = [_counts(count, name) for count, name in counts if count]
    chosen = "" if view.min_node is not None else ", as many as stay legible"
    where = f"below {_percent(left.min_node)} (--min-node{chosen}), or called from there only"
    if left.is_cut:
        drawn = sum(1 + len(node.chain) for node in left.profile.functions.values())
        where = f"all but the first {drawn} by share"
    found = [f"{where}: {' and '.join(parts)}"] if parts else []
    if graph.folded and not graph.imports_ns:
        inside = _counts(graph.folded, "function")
        found.append(f"{inside} inside libraries, whose own share counts for callers (--library)")
    return f"left out: {'; '.join(found)}" if found else ""


def _counts(count: int, name: str) -> str:
    return f"{units.count(count)} {name}{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{units.significant(share * 100, 2)} %"
