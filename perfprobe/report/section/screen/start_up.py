"""Lines about the time before the first step."""

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
    StartUpPart.OTHER: "Python before the first step",
    StartUpPart.MODEL: "building the model",
    StartUpPart.COMPILE: "torch.compile",
    StartUpPart.WAITING: "waiting before the first step",
    StartUpPart.CHILDREN: "waiting for child processes",
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
    yield said("", "before the first step; in a longer run the steps count")
    gain = "nearly all of this run's time"
    if start.gain is not None:
        gain = f"this run at most {times(start.gain)} as fast"
    yield said("GAIN", gain, " (bounded, not measured)", share=start.share)


def _start(findings: Findings, start: Diagnosis) -> tuple[str, dict[str, Any]]:
    """What it is, how long, and its line; and the same as figures."""
    facts = facts_of(findings, start)
    at = "" if facts["line"] is None else f": {place(facts['line'])}"
    what = _own_module(findings, facts["line"]) or _TEXTS[start.part or StartUpPart.OTHER]
    much = f"{units.duration(start.time_ns)} = {whole_percent(start.share)} of the run"
    return f"{what}, {much}{at}", facts


def also_start(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: the longest part of start-up, and the longest import of a library, if much of the run."""
    for each in findings[Diagnoses].of(Cause.START_UP):
        if not each.stands_out:
            text, facts = _start(findings, each)
            yield said("ALSO", text, **facts)
    for each in findings[Diagnoses].of(Cause.IMPORTS):
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
