"""A recording opened: from the file to findings, and from those to its report, picture or export."""

from __future__ import annotations

import importlib
import os

from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from perfprobe.report.exported import Exported
    from perfprobe.support.graph_view import GraphView
    from perfprobe.tables.events import Losses
    from perfprobe.tables.findings import Findings, SourceRule
    from perfprobe.tables.measurements import Measurements
    from perfprobe.tables.recording import Recording


def report_text(path: str, view: View, *, width: int = 200, color: bool = False) -> str:
    """The report of a recording as text.

    Args:
        width: columns.
        color: with escape sequences for a terminal.

    Raises:
        InputError: the file is no recording, or none this version can read.
    """
    from perfprobe.report import text

    found = findings(path, view, work=view.columns != "short")
    return text.render(found, width=width, top=view.top, sort=view.sort, columns=view.columns, color=color)


def report_document(path: str, view: View | None = None) -> dict[str, Any]:
    """The same as a document for JSON."""
    from perfprobe.report import json

    view = view or View()
    return json.document(findings(path, view, work=True), top=view.top, sort=view.sort)


def draw_callgraph(path: str, output: str, view: GraphView) -> None:
    """Draws the call graph of a recording.

    Args:
        output: the file to write; its end, one of `support.graph_view.PICTURES`, says which kind of picture.

    Raises:
        InputError: the file is no recording, or holds nothing to draw by this weight.
        UsageError: what the view asks for is not there.
        EnvironmentLack: the file cannot be written, or `dot` is missing: then its text was written.
    """
    from perfprobe.analyse.callgraph import call_graph
    from perfprobe.report.callgraph.drawing import drawing
    from perfprobe.report.callgraph.render import render
    from perfprobe.support.errors import InputError

    found = findings(path, View(), work=False)
    if found.calling is None:
        raise InputError("neither operators nor Python functions were recorded", path, "record again")
    graph = call_graph(found.trace, found.calling, view.by, unfolded=view.unfolded)
    render(drawing(found, found.calling, graph, view), output)


def findings(path: str, view: View, *, work: bool) -> Findings:
    """All that is known of a recording, or of a profile of cProfile. work: also look for FLOPs.

    Raises:
        InputError: the file cannot be read.
        UsageError: the focus is no regular expression.
    """
    from dataclasses import replace

    from perfprobe.analyse.between import BetweenOperators
    from perfprobe.analyse.calling import CallingStructure
    from perfprobe.analyse.gpu import gpu_findings
    from perfprobe.analyse.hotspots import hotspots
    from perfprobe.analyse.lines import lines
    from perfprobe.analyse.named_ranges import named_ranges
    from perfprobe.analyse.steps import StepBoundaries
    from perfprobe.merge import link
    from perfprobe.merge.children import lost_children
    from perfprobe.tables.children import children
    from perfprobe.tables.events import Losses
    from perfprobe.tables.findings import Findings

    trace = link(_read(path))
    between, calling = BetweenOperators(trace), CallingStructure(trace)
    if trace.recording.fact("pstats") is not None:
        return Findings(trace, calling=calling.result(), focus=view.focus)
    steps = [] if trace.gpu is None else [StepBoundaries(trace)]
    found = hotspots(trace, between, calling, *steps, group=view.group, focus=view.focus, work=work)
    hot_lines = lines(trace, found.ungrouped)
    gpu = gpu_findings(trace, steps[0].result()) if steps else None
    measurements, lost = _measurements(trace.recording)
    started = children(trace.recording)
    return Findings(
        trace,
        replace(found, losses=Losses.concat([found.losses, *lost, *lost_children(started)])),
        hot_lines,
        between.result(),
        calling.result(),
        view.focus,
        gpu,
        named_ranges(trace),
        measurements,
        source_rule(trace.recording, view.source),
        started,
    )


def source_rule(recording: Recording, source: str | None) -> SourceRule:
    """Which files a report on this recording may quote.

    Somebody else's recording may name any file of the one who reads it, and its report may be passed back.
    """
    from perfprobe.tables.findings import ANY_SOURCE, SourceRule

    if source is not None:
        return SourceRule(source, True, "" if source else "not shown: --no-source")
    name = recording.text("host", "name")
    if name != os.uname().nodename:
        whose = "recorded on another host" if name else "recorded on a host it does not name"
    elif os.stat(recording.path).st_uid != os.geteuid():
        whose = "another user's recording"
    else:
        return ANY_SOURCE
    return SourceRule(os.getcwd(), False, f"not below this folder, and {whose}: --source DIR")


def _measurements(recording: Recording) -> tuple[Measurements | None, list[Losses]]:
    """What `perfprobe bench` kept beside the recording, or why that is of no use."""
    from perfprobe.models.verdicts import KINDS
    from perfprobe.support.errors import InputError
    from perfprobe.tables import measured_file
    from perfprobe.tables.events import Losses

    path = measured_file.beside(recording.path)
    if not os.path.exists(path):
        return None, []
    try:
        return measured_file.read(path, measured_file.identity(recording), KINDS), []
    except InputError as error:
        return None, [Losses.one("bench", f"{error.what}: {error.where}", 1, error.remedy)]


def _read(path: str) -> Recording:
    from perfprobe.read import pstats
    from perfprobe.tables import storage

    return pstats.read(path) if pstats.is_pstats(path) else storage.read(path)


def exported(path: str, form: str, times: str | None) -> Exported:
    """A recording, or a profile of cProfile, as a file for other tools.

    Args:
        form: the module of `perfprobe.report` that makes it.
        times: whose times of Python functions: "cprofile", "samples", or None for what suits.

    Raises:
        InputError: the file cannot be read, or has not got what the form needs.
        UsageError: those times were not recorded.
    """
    found = findings(path, View(), work=False)
    made: Exported = importlib.import_module(f"perfprobe.report.{form}").exported(found, times)
    if not found.whole:
        made.notes.append("the recording is incomplete: `perfprobe report` says why")
    return made


def newest(folder: str) -> str:
    """The newest recording in a folder.

    Raises:
        InputError: there is none.
    """
    from perfprobe.tables import storage

    return str(storage.newest(folder))
