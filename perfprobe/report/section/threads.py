"""How long threads ran and waited for a processor, and who used it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.processors import (
    ThreadWaitRow,
    processor_rows,
    thread_wait_rows,
    window_rows,
)
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.teams import operator_teams, team_tables, verdicts
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import NativeSplit
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams

TOP = 8

_MISSING = {
    "waiting": "how long threads waited",
    "machine": "what other processes used",
    "pressure": "whether any process on the machine waited",
}


def processor_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`processors` in one row, `thread_times`, `processor_windows`, and those of teams."""
    return {
        "processors": processor_rows(findings),
        "thread_times": thread_wait_rows(findings),
        "processor_windows": window_rows(findings),
        **team_tables(findings),
    }


def threads(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Problems with threads, the table of those that waited or ran longest, and operators' teams."""
    found, rows = findings[Processors], _own_together(thread_wait_rows(findings))
    shown = rows[: choice.most(TOP) or None]
    of = f"; the first {len(shown)} of {units.count(len(rows))}" if len(shown) < len(rows) else ""
    yield Heading("Threads", f"{cores_used(found)}{of}")
    yield from verdicts(findings)
    yield Table(_columns(shown, found.wall_ns))
    for note in _notes(found):
        yield Paragraph(note, "dim")
    yield from operator_teams(findings)


def cores_used(found: Processors) -> str:
    """`1.3 of 2 allowed cores used, 0.5 by child processes; other processes 1 %`, as far as known."""
    children = found.children_cores or 0
    by_children = f", {units.tenths(children)} by child processes" if is_named(children) else ""
    of = "" if found.allowed_cores is None else f" of {units.plain(found.allowed_cores)} allowed"
    cores = "core" if found.allowed_cores == 1 else "cores"
    share = found.others_share
    beside = "" if share is None else f"; other processes {units.percent(share)}"
    return f"{units.tenths(found.used_cores + children)}{of} {cores} used{by_children}{beside}"


def _own_together(rows: Sequence[ThreadWaitRow]) -> list[ThreadWaitRow]:
    """The rows with perfprobe's own threads as one, the last. They are started again after each fork."""
    own = [row for row in rows if row.is_perfprobe]
    if len(own) < 2:
        return list(rows)
    waited_ns = [row.waited_ns for row in own if row.waited_ns is not None]
    together = replace(
        own[0],
        name=f"perfprobe's own ({len(own)})",
        os_thread=None,
        run_ns=sum(row.run_ns for row in own),
        waited_ns=sum(waited_ns) if waited_ns else None,
    )
    return [*(row for row in rows if not row.is_perfprobe), together]


def kinds_of_waiting(found: Processors) -> str:
    """`0.9 s for other processes, 0.2 s for its own threads`: the kinds that occurred, longest first."""
    kinds = {
        "for its own threads": found.own_ns,
        "for other processes": found.others_ns,
        "for unknown reasons": found.unknown_ns,
    }
    known = sorted(((time_ns, kind) for kind, time_ns in kinds.items() if time_ns), reverse=True)
    parts = [
        f"{units.duration(time_ns)} {kind}"
        for time_ns, kind in known
        if is_named(time_ns, found.wall_ns, OF_ROW)
    ]
    return ", ".join(parts)


def _columns(rows: Sequence[ThreadWaitRow], wall_ns: int) -> list[Column]:
    waited = [None if row.waited_ns is None else row.waited_ns / max(wall_ns, 1) for row in rows]
    lock = figures("lock", (units.duration(row.lock_ns) for row in rows), 2)
    is_noteworthy = any(is_named(row.lock_ns or 0, wall_ns, OF_ROW) for row in rows)
    return [
        figures("CPU", (units.duration(row.run_ns) for row in rows)),
        figures("waited", (units.duration(row.waited_ns) for row in rows), style="bold"),
        figures("of wall", map(units.percent, waited), 2),
        *([lock] if is_noteworthy else []),
        figures("voluntary", (_count(row.voluntary) for row in rows), 4),
        figures("involuntary", (_count(row.involuntary) for row in rows), 3),
        figures("cores", (_count(row.processors) for row in rows), 4),
        Column("kind", [row.kind or units.ABSENT for row in rows], 2),
        Column("thread", [_named(row) for row in rows], least=12),
    ]


def _count(value: int | None) -> str:
    return units.ABSENT if value is None else units.count(value)


def _named(row: ThreadWaitRow) -> str:
    return "main thread" if row.is_main else printable(row.name or "a thread")


def _notes(found: Processors) -> Iterator[str]:
    if found.waited_ns is not None:
        kinds = kinds_of_waiting(found)
        yield f"Waiting for a processor: {kinds}." if kinds else "Hardly any waiting for a processor."
    if found.throttled_ns:
        throttled = units.duration(found.throttled_ns)
        yield f"The quota of {units.plain(found.quota_cores)} cores was used up for {throttled}."
    if found.stolen_ns is not None and is_named(found.stolen_ns, found.wall_ns, OF_ROW):
        yield f"The hypervisor gave {units.duration(found.stolen_ns)} of the processors to others."
    if is_named(found.other_run_ns, found.wall_ns, OF_ROW):
        other = units.duration(found.other_run_ns)
        yield f"Threads that ended between two readings ran {other}; how long they waited is not known."
    for missing in found.lacks:
        if missing.what in _MISSING:
            yield f"Not known: {_MISSING[missing.what]} ({printable(missing.why)})."


_MEANINGS: dict[str, str] = {
    "CPU": "CPU time of the thread.",
    "waited": "Time in which the thread was ready to run but had no processor, from the kernel's scheduler "
    "(`/proc/self/task/*/schedstat`).",
    "of wall": "waited divided by the wall time.",
    "lock": "Time in which the thread waited for Python's global lock, by the share of samples that found "
    "it waiting.",
    "voluntary": "How often the thread gave up its processor to wait for data, a lock or other threads.",
    "involuntary": "How often the kernel took the processor away from the thread.",
    "cores": "Number of processors on which the thread was seen, checked once a second.",
    "kind": "main, Python, autograd, team (a thread without a name that works for OpenMP or another "
    "library), inter-op, pin memory, CUDA, perfprobe or other.",
    "thread": "Name of the thread.",
    "active": "Mean number of threads that ran while only this operator ran, with two standard errors. "
    "Members of a team that spin count too.",
    "of team": "active divided by torch's threads: an upper bound of the operator's parallel efficiency.",
    "idle": "CPU time that the other members of the team did not use while the caller of the operator ran, "
    "because of imbalance or serial parts.",
    "spinning": "CPU time that threads spent at OpenMP's barriers and waiting for work (`--native`).",
    "scheduling": "CPU time spent starting teams and dividing work, by samples (`--native`).",
    "locks": "CPU time that threads spent waiting for OpenMP's locks and critical sections (`--native`).",
    "not running": "CPU time that the team did not use while its caller had no processor.",
    "setting": "The setting that `perfprobe threads --sweep` measured. `as it is`: no setting was changed.",
    "gain": "In the sweep: speed-up over the unchanged program, mean of all pairs of runs. In Teams: "
    "VTune's potential gain, which is idle, spinning, scheduling and locks divided by the threads.",
    "interval": "Interval of that mean, by Student's t. Those of all settings together hold the truth in "
    "95 % of sweeps.",
    "torch threads": "The value of torch.get_num_threads() at the end of the last run.",
    "best": "The best number of threads: the smallest one that no other measured number beats by 5 % or "
    "more with certainty.",
    "speed-up": "Speed-up of the best number of threads over the smallest one.",
    "inputs": "Inputs of the operator.",
    "samples": "How often this operator filled the time between two samples.",
    "operator": "Operator whose calls are long enough to fill the time between two samples.",
    "line": "Line of the program.",
}

THREADS = Section(
    "threads",
    (Processors,),
    threads,
    processor_tables,
    shows=(Teams, NativeSplit),
    titles=(
        "Threads",
        "Teams",
        "Settings of threads",
        "Threads of operators",
    ),
    guide="threads",
    means="Problems with the number of threads, and why. CPU time of each thread, how long it waited for a "
    "processor, and what other processes used. Operators that leave their team idle.",
    meanings=_MEANINGS,
    json={
        "processors": "The section *threads*: waiting for processors, use by other processes.",
        "processor_windows": "The same in windows of time.",
        "thread_times": "The section *threads*: each thread.",
        "thread_problems": "The section *threads*: problems, with remedy.",
        "utilisation": "The section *threads*: how much of the processors was used, by VTune's classes.",
        "operator_teams": "The section *threads*: operators with the threads that ran in them.",
    },
)
