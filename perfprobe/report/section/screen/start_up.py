"""What is said of the time before the first step."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from perfprobe.report.rows.imports import ImportRow, import_rows
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import times, whole_percent
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling
from perfprobe.tables.steps import StartUpPart, StepTimes
from perfprobe.tables.trace import Line

_LEAST_NS = 500_000_000  # less is not a bottleneck of an interactive run
_NOTEWORTHY = 0.1  # of the wall time
_TORCH = "torch"
_TEXTS = {
    StartUpPart.OTHER: "Python before the first step",
    StartUpPart.MODEL: "building the model",
    StartUpPart.COMPILE: "torch.compile",
}


def slow_start(findings: Findings) -> list[ScreenRow] | None:
    """SLOW and GAIN where something before the first step took longer than all steps; else None.

    What torch imports is left out, as it cannot be avoided: a run of a few steps, as one is recorded,
    would say nothing else. `also_start` names it.
    """
    known, wall_ns = findings[StepTimes], findings.wall_ns
    stepping_ns = int((known.steps.end_ns - known.steps.start_ns).sum())
    found = max([*_imports(findings), *_others(findings, known)], key=lambda each: each[0], default=None)
    if found is None or found[0] < max(stepping_ns, _LEAST_NS) or not wall_ns:
        return None
    time_ns, text, line = found
    share = min(time_ns / wall_ns, 1)
    at = "" if line is None else f": {place(line)}"
    facts = {"time_ns": time_ns, "share": share, "line": line}
    much = f"{units.duration(time_ns)} = {whole_percent(share)} of the run"
    gain = (
        f"this run at most {times(1 / (1 - share))} as fast"
        if share < 0.995
        else "nearly all of this run's time"
    )
    return [
        said("SLOW", f"{text}, {much}{at}", style="bold", **facts),
        said("", "before the first step; in a longer run the steps count"),
        said("GAIN", gain, " (bounded, not measured)", share=share),
    ]


def _imports(findings: Findings) -> list[tuple[int, str, Line | None]]:
    calling = findings.get(Calling)
    rows = [] if calling is None else import_rows(findings.trace, calling)
    return [(row.time_ns, _imported(row), row.line) for row in rows if not _is_torchs(row)]


def _is_torchs(row: ImportRow) -> bool:
    return (row.module or "").partition(".")[0] == _TORCH


def also_start(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: what torch imported late, as `AdamW()` does, where it is a noteworthy part of the run."""
    calling, wall_ns = findings.get(Calling), findings.wall_ns
    rows = [] if calling is None else import_rows(findings.trace, calling)
    late = [row for row in rows if _is_torchs(row) and row.by is not None]
    if late and wall_ns and late[0].time_ns >= _NOTEWORTHY * wall_ns:
        row, at = late[0], "" if late[0].line is None else f", {place(late[0].line)}"
        yield said(
            "ALSO", f"{_imported(row)}, {units.duration(row.time_ns)} of start-up{at}", time_ns=row.time_ns
        )


def _imported(row: ImportRow) -> str:
    by = f" by {printable(row.by)}" if row.by else ""
    return f"import of {printable(row.module or 'a module')}{by}"


def _others(findings: Findings, known: StepTimes) -> list[tuple[int, str, Line | None]]:
    """Parts that are not imports of a library; what runs in a module of the program is that one's import."""
    rows = known.start_up
    columns = (rows.kind.tolist(), rows.time_ns.tolist(), rows.frame.tolist())
    found: list[tuple[int, str, Line | None]] = []
    for kind, time_ns, frame in zip(*columns, strict=True):
        line = findings.trace.line(frame)
        if kind in _TEXTS:
            found.append((time_ns, _own_module(findings, line) or _TEXTS[StartUpPart(kind)], line))
    return found


def _own_module(findings: Findings, line: Line | None) -> str:
    """`import of heavy` for what runs in the code of a module that is not the program's script."""
    script = findings.trace.recording.text("program", "script")
    if line is None or line.function != "<module>" or script is None:
        return ""
    name = posixpath.basename(line.file)
    return "" if name == posixpath.basename(script) else f"import of {printable(name.removesuffix('.py'))}"
