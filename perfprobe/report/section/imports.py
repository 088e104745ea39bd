"""The text about imports of libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfprobe.report import shorten
from perfprobe.report.rows.imports import ImportRow
from perfprobe.report.rows.named import is_named
from perfprobe.support import units
from perfprobe.support.text import printable

_MOST = 3  # imports that are named


def imports_text(rows: Sequence[ImportRow], *, own: bool = False) -> str:
    """`torch 2.1 s, torch._dynamo 1.7 s by Adam at train.py:36`, the longest first.

    own: whether to say their time without waiting for a processor.
    """
    if own:
        rows = [replace(row, time_ns=row.own_ns) for row in rows]
    whole_ns = sum(row.time_ns for row in rows)
    named = [row for row in rows[:_MOST] if is_named(row.time_ns, whole_ns)]
    rest_ns = whole_ns - sum(row.time_ns for row in named)
    rest = [f"others {units.duration(rest_ns)}"] if is_named(rest_ns, whole_ns) else []
    return ", ".join([*map(_text, named), *rest])


def _text(row: ImportRow) -> str:
    text = f"{printable(row.module or 'a module')} {units.duration(row.time_ns)}"
    if row.line is None or (row.by is None and row.module is not None):
        return text
    by = f" by {printable(row.by)}" if row.by is not None else ""
    return f"{text}{by} at {shorten.place(row.line)}"
