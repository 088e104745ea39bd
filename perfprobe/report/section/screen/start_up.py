"""Lines about the time outside of the steps: before the first one, and after it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import facts_of, times, whole_percent
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.children import Children
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.imports import Import
from perfprobe.tables.steps import StartUpPart
from perfprobe.tables.trace import Line

_TEXTS = {
    StartUpPart.MODEL: "building the model",
    StartUpPart.COMPILE: "torch.compile",
    StartUpPart.CHILDREN: "waiting for child processes",
}
_OTHER = {Cause.START_UP: "Python before the first step", Cause.AFTER: "outside of the steps"}
_WAITING = {
    Cause.START_UP: "waiting before the first step",
    Cause.AFTER: "waiting outside of the steps",
}


def slow_start_lines(findings: Findings, start: Diagnosis) -> Iterator[ScreenRow]:
    """The line SLOW, and GAIN if the time is work of this process."""
    text, facts = _start(findings, start)
    yield said("SLOW", text, style="bold", **facts)
    if start.part is StartUpPart.CHILDREN:
        children = findings.get(Children)
        recorded = 0 if children is None else len(children.recordings)
        if recorded:
            yield said("", f"what they do is in their own recordings, {recorded:,} of them")
        return
    if start.cause is Cause.START_UP:
        yield said("", "before the first step; in a longer run the steps count")
    gain = "nearly all of this run's time"
    if start.gain is not None:
        gain = f"this run at most {times(start.gain)} as fast"
    yield said("GAIN", gain, " (bounded, not measured)", share=start.share)


def _start(findings: Findings, start: Diagnosis) -> tuple[str, dict[str, Any]]:
    """What it is, how long, and its line; and the same as figures."""
    facts = facts_of(findings, start)
    at = "" if facts["line"] is None else f": {place(facts['line'])}"
    what = _own_module(findings, facts["line"]) or _what(start)
    much = f"{units.duration(start.time_ns)} = {whole_percent(start.share)} of the run"
    return f"{what}, {much}{at}", facts


def _what(found: Diagnosis) -> str:
    others = _WAITING if found.part is StartUpPart.WAITING else _OTHER
    return _TEXTS.get(found.part or StartUpPart.OTHER, others[found.cause])


def also_start(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: the longest part of start-up, and the longest import of a library, if much of the run."""
    judged = findings[Diagnoses]
    for each in (found for cause in _OTHER for found in judged.of(cause)):
        if each is not judged.slow:
            text, facts = _start(findings, each)
            yield said("ALSO", text, **facts)
    for each in judged.of(Cause.IMPORTS):
        found = each.imported
        if found is not None:
            at = "" if found.line is None else f", {place(found.line)}"
            text = f"{_imported(found)}, {units.duration(each.time_ns)} of start-up{at}"
            yield said("ALSO", text, time_ns=each.time_ns)


def _imported(found: Import) -> str:
    by = f" by {printable(found.by)}" if found.by else ""
    return f"import of {printable(found.module or 'a module')}{by}"


def _own_module(findings: Findings, line: Line | None) -> str:
    """`import of heavy` for code that runs in a module that is not the program's script."""
    script = findings.trace.recording.text("program", "script")
    if line is None or line.function != "<module>" or script is None:
        return ""
    name = posixpath.basename(line.file)
    return "" if name == posixpath.basename(script) else f"import of {printable(name.removesuffix('.py'))}"
