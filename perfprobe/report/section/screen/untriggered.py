"""The first screen of a program that waited for `perfprobe trigger`, which never came: nothing is judged."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.program import program
from perfprobe.report.section.screen.script import head
from perfprobe.support import units
from perfprobe.tables.findings import Findings


def untriggered_lines(findings: Findings) -> Iterator[ScreenRow]:
    """What ran, what it waited for, and how to record it."""
    recording = findings.trace.recording
    steps, process = recording.number("live_steps", "steps"), recording.number("program", "pid")
    unrecorded = f"; {units.count(int(steps))} steps unrecorded" if steps else ""
    yield head(findings)
    asked = " ".join(["perfprobe trigger", *([] if process is None else [str(process)])])
    yield said("WAITED", f"for `{asked}`, which never came", unrecorded)
    again = f"perfprobe run --wait {program(findings.trace)}"
    yield said("NEXT", f"{again}, and perfprobe trigger PID while it runs", whole=True)
