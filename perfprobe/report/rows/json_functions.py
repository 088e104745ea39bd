"""The tables of Python functions in the JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perfprobe.report.section.function_notes import sample_ns
from perfprobe.report.section.functions import in_focus, ranked
from perfprobe.tables.columns import Table
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling, Code, Origin
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

Row = dict[str, Any]


def function_tables(findings: Findings, calling: Calling, most: int, sort: str) -> dict[str, list[Row]]:
    """`functions`, `calls` and `threads`, with names for their ids, and `python`: what the times are.

    most: rows of each, 0 for all.
    """
    recording, code = findings.trace.recording, calling.python.code
    rows, calls = calling.functions, calling.calls
    if findings.focus is not None:
        is_meant = in_focus(findings.trace, code, findings.focus)
        rows, calls = (
            rows.take(is_meant[rows.code]),
            calls.take(is_meant[calls.caller] | is_meant[calls.callee]),
        )
    by_time = np.argsort(-calls.total_ns, kind="stable")
    return {
        "python": [
            {
                "times": _source(calling),
                "sample_ns": sample_ns(calling) or None,
                "counts_end_ns": calling.counts_end_ns,
            }
        ],
        "functions": [
            {**_place(recording, code, row.pop("code")), **_known(row)}
            for row in _rows(ranked(calling, rows, most, sort))
        ],
        "calls": [
            {
                **_place(recording, code, row.pop("caller"), "caller_"),
                **_place(recording, code, row.pop("callee"), "callee_"),
                **_known(row),
            }
            for row in _rows(calls.take(by_time[: most or len(by_time)]))
        ],
        "threads": [
            {**_thread(recording, row.pop("thread")), **_known(row)} for row in _rows(calling.threads)
        ],
    }


def _source(calling: Calling) -> str | None:
    """Where own_ns and total_ns come from."""
    if calling.by_samples:
        return "samples"
    return "cprofile" if len(calling.python.counted) else None


def _place(recording: Recording, code: Code, at: int, prefix: str = "") -> Row:
    """Which function; all null for none, of a C function there is only the name."""
    if at < 0:
        return {f"{prefix}{name}": None for name in ("file", "function", "first_line", "origin")}
    file = int(code.file[at])
    return {
        f"{prefix}file": recording[Strings][file] if file >= 0 else None,
        f"{prefix}function": recording[Strings][code.function[at]],
        f"{prefix}first_line": int(code.first_line[at]) if file >= 0 else None,
        f"{prefix}origin": Origin(code.origin[at]).name.lower(),
    }


def _thread(recording: Recording, at: int) -> Row:
    threads = recording[Threads]
    if not 0 <= at < len(threads):
        return {"thread": at, "name": None, "os_thread": None}
    number = int(threads.os_thread[at])
    name = recording.text("python_threads", str(number)) or recording[Strings][threads.name[at]]
    return {"thread": at, "name": name or None, "os_thread": number}


def _known(row: Row) -> Row:
    return {name: value if value >= 0 else None for name, value in row.items()}


def _rows(table: Table) -> Iterator[Row]:
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))
