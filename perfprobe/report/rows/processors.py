"""Rows of processors: the whole recording in one, its threads, and the windows between readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from perfprobe.report.rows.row import Values, measured, named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import KIND_TEXTS, Teams

_SEPARATE = ("windows", "threads", "lacks")  # these have tables of their own


@frozen(kw_only=True)
class ThreadWaitRow:
    """A thread; figures as in `ThreadWaits`, `ThreadInventory`. name: the program's, else the kernel's."""

    name: str | None
    os_thread: int | None
    run_ns: int
    waited_ns: int | None
    is_perfprobe: bool
    is_main: bool
    kind: str | None = None
    voluntary: int | None = None
    involuntary: int | None = None
    processors: int | None = None
    processor: int | None = None
    lock_ns: int | None = None


def processor_rows(findings: Findings) -> list[Values]:
    """One row: the figures of `Processors`, and reasons for what is not known."""
    found = findings[Processors]
    row: dict[str, Any] = {
        each.name: getattr(found, each.name) for each in fields(found) if each.name not in _SEPARATE
    }
    row["others_share"] = found.others_share
    row["lacks"] = {missing.what: missing.why for missing in found.lacks}
    return [Values(row)]


def window_rows(findings: Findings) -> list[Values]:
    """Returns a row for each window, with None for values that were not measured."""
    windows = values(findings[Processors].windows)
    return [Values({name: measured(value) for name, value in row.items()}) for row in windows]


def thread_wait_rows(findings: Findings) -> list[ThreadWaitRow]:
    """All threads that ran, longest waiting first."""
    recording = findings.trace.recording
    os_threads: Sequence[int] = recording[Threads].os_thread.tolist()
    found = []
    waits = list(values(findings[Processors].threads))
    for value, more in zip(waits, _inventory(findings, len(waits)), strict=True):
        thread = value["thread"]
        is_known = 0 <= thread < len(os_threads)
        found.append(
            ThreadWaitRow(
                name=thread_title(recording, thread) if is_known else None,
                os_thread=os_threads[thread] if is_known else None,
                run_ns=value["run_ns"],
                waited_ns=measured(value["waited_ns"]),
                is_perfprobe=bool(value["is_perfprobe"]),
                is_main=bool(value["is_main"]),
                **more,
            )
        )
    return found


def _inventory(findings: Findings, threads: int) -> list[dict[str, Any]]:
    """Returns what else is known of each thread."""
    teams = findings.get(Teams)
    if teams is None:
        return [{}] * threads
    figures = ("voluntary", "involuntary", "processors", "processor", "lock_ns")
    return [
        {"kind": KIND_TEXTS.get(value["kind"]), **{name: measured(value[name]) for name in figures}}
        for value in values(teams.inventory)
    ]


def thread_title(recording: Recording, thread: int) -> str | None:
    """The program's name of a thread, else the kernel's."""
    threads = recording[Threads]
    name = recording.text("python_threads", str(threads.os_thread[thread]))
    return named(name or recording[Strings][threads.name[thread]])
