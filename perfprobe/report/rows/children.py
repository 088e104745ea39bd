"""Rows of child processes: those with a recording of their own, and commands that were not recorded."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.children import Children
from perfprobe.tables.findings import Findings


@frozen
class ChildRow:
    """A child process, or all processes of one command that was not recorded.

    recording: the child's own. kind: how it was started. Without a recording: the command that started the
    processes, and how to record them.
    """

    recording: str | None
    kind: str
    command: str | None
    recipe: str | None
    processes: int


def child_rows(findings: Findings) -> list[ChildRow]:
    """A row for each recording of a child, and for each command that was not recorded."""
    children = findings.get(Children) or Children()
    recorded = [ChildRow(path, method, None, None, 1) for path, method in children.recordings]
    return [*recorded, *(ChildRow(None, **lost._asdict()) for lost in children.lost)]
