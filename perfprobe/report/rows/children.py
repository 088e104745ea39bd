"""Rows of child processes: those that recorded themselves, and the commands that were not recorded."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.children import Children
from perfprobe.tables.findings import Findings


@frozen
class ChildRow:
    """recording: the child's own, and `kind` how it was started.

    Without a recording: the command that started them, and how to record them.
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
