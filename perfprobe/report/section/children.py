"""Child processes: their effect on the rest of the report, and their own recordings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.children import child_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import is_named
from perfprobe.report.section.block import Block, Fact, Facts, Heading, Paragraph, Section
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.children import Children, Lost
from perfprobe.tables.findings import Findings, Hotspots

TOP = 10  # recordings that are named


def cpu_of_children(findings: Findings) -> list[str]:
    """The CPU time of children, if it is noticeable."""
    cpu_ns, self_ns = (findings.get(Children) or Children()).cpu_ns, findings.trace.cpu_ns
    if cpu_ns is None or (self_ns is not None and not is_named(cpu_ns, self_ns)):
        return []
    return [f"CPU of child processes {units.duration(cpu_ns)}"]


def work_in_children(findings: Findings) -> Iterator[Block]:
    """A note if other processes than the recorded one seem to have done the work."""
    children, hotspots = findings.get(Children) or Children(), findings.get(Hotspots)
    lost = [lost for lost in children.lost if lost.is_python]
    has_operators = hotspots is not None and hotspots.whole_rows > 0
    self_ns = findings.trace.cpu_ns
    is_less = self_ns is not None and children.cpu_ns is not None and self_ns < children.cpu_ns
    if has_operators and not is_less:
        return
    if lost:
        yield Paragraph(_not_recorded(lost), "yellow")
    if children.recordings:
        number = _processes(len(children.recordings))
        text = f"{number} recorded in files of their own: see Child recordings, at the end."
        yield Paragraph(f"{_share(children.cpu_ns, self_ns)}{text}", "yellow")


def _share(cpu_ns: int | None, self_ns: int | None) -> str:
    """The share of children in all CPU time, "" if not known."""
    if not cpu_ns or self_ns is None:
        return ""
    return f"{units.percent(cpu_ns / (cpu_ns + self_ns))} of CPU time was in child processes. "


def _not_recorded(lost: list[Lost]) -> str:
    most = max(lost, key=lambda row: row.processes)
    number = _processes(sum(row.processes for row in lost))
    others = len(lost) - 1
    more = f" and {others} more command{'' if others == 1 else 's'}" if others else ""
    recipe = f" To record them: {printable(most.recipe)}" if most.recipe else ""
    return f"{number} not recorded: {printable(most.command)}{more}.{recipe}"


def _processes(count: int) -> str:
    return "1 child process was" if count == 1 else f"{count:,} child processes were"


def child_recordings(findings: Findings, _: Choice) -> Iterator[Block]:
    """The recordings of children; nothing if there are none."""
    paths = [path for path, _ in findings[Children].recordings]
    if not paths:
        return
    folder = os.path.dirname(paths[0])
    yield Heading("Child recordings", f"{len(paths):,}, in {printable(folder or '.')}")
    for path in paths[:TOP]:
        yield Facts([Fact(f"  {printable(os.path.basename(path))}")])
    command = f"perfprobe report {shlex.quote(folder)}/*.perfprobe"
    yield Paragraph(f"All of them: {printable(command)}", indent=2)


def child_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`children`, if there are any."""
    rows = child_rows(findings)
    return {"children": rows} if rows else {}


CHILDREN = Section(
    "children",
    (Children,),
    child_recordings,
    child_tables,
    titles=("Child recordings",),
    means="Recordings of child processes.",
    json={
        "children": "The section *children*.",
    },
)
