"""Lines about the time before the first step."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from perfprobe.models.left_out import window_option
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.start_up import StartUpRow, start_up_rows
from perfprobe.report.section.screen.places import times, whole_percent
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.children import Children
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StartUpPart, StepTimes
from perfprobe.tables.trace import Line

_LEAST_NS = 500_000_000  # a shorter start-up is never a bottleneck
_NOTEWORTHY = 0.1  # an import is named from this share of the wall time on
_TORCH = "torch"
_TEXTS = {
    StartUpPart.OTHER: "Python before the first step",
    StartUpPart.MODEL: "building the model",
    StartUpPart.COMPILE: "torch.compile",
    StartUpPart.WAITING: "waiting before the first step",
    StartUpPart.CHILDREN: "waiting for child processes",
}


class SlowStart(NamedTuple):
    """What took longest before the first step. share: its share of the wall time."""

    part: StartUpPart
    time_ns: int
    share: float
    text: str
    line: Line | None

    @property
    def view(self) -> str:
        """The view with more about it."""
        return "children" if self.part is StartUpPart.CHILDREN else "start-up"


def slow_start(findings: Findings) -> SlowStart | None:
    """Returns what took longer before the first step than all steps together; None if nothing did.

    Imports of libraries are left out, because in a recording of a few steps they always take longest.
    `also_start` names them. With options such as `--steps 3:14`, all of start-up is left out.
    """
    if window_option(findings.trace.recording) is not None:
        return None
    known, wall_ns = findings[StepTimes], findings.wall_ns
    stepping_ns = int((known.steps.end_ns - known.steps.start_ns).sum())
    found = max(
        _parts(findings, known, wall_ns) if wall_ns else (), key=lambda each: each.time_ns, default=None
    )
    return None if found is None or found.time_ns < max(stepping_ns, _LEAST_NS) else found


def slow_start_lines(findings: Findings, start: SlowStart) -> Iterator[ScreenRow]:
    """The line SLOW, and GAIN if the time is work of this process."""
    at = "" if start.line is None else f": {place(start.line)}"
    much = f"{units.duration(start.time_ns)} = {whole_percent(start.share)} of the run"
    facts = {"time_ns": start.time_ns, "share": start.share, "line": start.line}
    yield said("SLOW", f"{start.text}, {much}{at}", style="bold", **facts)
    if start.part is StartUpPart.CHILDREN:
        children = findings.get(Children)
        recorded = 0 if children is None else len(children.recordings)
        if recorded:
            yield said("", f"what they do is in their own recordings, {recorded:,} of them")
        return
    yield said("", "before the first step; in a longer run the steps count")
    gain = "nearly all of this run's time"
    if start.share < 0.995:
        gain = f"this run at most {times(1 / (1 - start.share))} as fast"
    yield said("GAIN", gain, " (bounded, not measured)", share=start.share)


def also_start(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: the longest import of a library before the first step, if it is a noteworthy part of the run.

    The import of torch itself is left out, because it cannot be avoided. What torch imports later, as
    `AdamW()` does, is named.
    """
    wall_ns = findings.wall_ns
    rows = (row for row in start_up_rows(findings) if row.part == "import")
    found = next((row for row in rows if row.by is not None or not _is_torchs(row)), None)
    if found is not None and wall_ns and found.time_ns >= _NOTEWORTHY * wall_ns:
        at = "" if found.line is None else f", {place(found.line)}"
        text = f"{_imported(found)}, {units.duration(found.time_ns)} of start-up{at}"
        yield said("ALSO", text, time_ns=found.time_ns)


def _is_torchs(row: StartUpRow) -> bool:
    return (row.module or "").partition(".")[0] == _TORCH


def _imported(row: StartUpRow) -> str:
    by = f" by {printable(row.by)}" if row.by else ""
    return f"import of {printable(row.module or 'a module')}{by}"


def _parts(findings: Findings, known: StepTimes, wall_ns: int) -> Iterator[SlowStart]:
    """The parts of start-up without imports of libraries. Code in a module of the program is its import."""
    rows = known.start_up
    columns = (rows.kind.tolist(), rows.time_ns.tolist(), rows.frame.tolist())
    for kind, time_ns, frame in zip(*columns, strict=True):
        line = findings.trace.line(frame)
        if kind in _TEXTS:
            text = _own_module(findings, line) or _TEXTS[StartUpPart(kind)]
            yield SlowStart(StartUpPart(kind), time_ns, time_ns / wall_ns, text, line)


def _own_module(findings: Findings, line: Line | None) -> str:
    """`import of heavy` for code that runs in a module that is not the program's script."""
    script = findings.trace.recording.text("program", "script")
    if line is None or line.function != "<module>" or script is None:
        return ""
    name = posixpath.basename(line.file)
    return "" if name == posixpath.basename(script) else f"import of {printable(name.removesuffix('.py'))}"
