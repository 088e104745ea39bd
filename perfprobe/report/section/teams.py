"""Threads: problems, how well they use the processors, and which operators leave them idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.named import OF_TABLE, is_named
from perfprobe.report.rows.teams import (
    OperatorTeamRow,
    ThreadProblemRow,
    problem_rows,
    team_rows,
    utilisation_rows,
)
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import Teams
from perfprobe.tables.workers import WorkerFindings

_MOST = 6  # operators that are shown
_VARIABLES = ("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "NUMEXPR_")


def team_tables(findings: Findings) -> dict[str, Sequence[Any]]:
    """`thread_problems`, `utilisation` and `operator_teams`."""
    return {
        "thread_problems": problem_rows(findings),
        "utilisation": utilisation_rows(findings),
        "operator_teams": team_rows(findings),
    }


def verdicts(findings: Findings) -> Iterator[Block]:
    """Yields problems with line and remedy, or a note that there are none; utilisation; cores; settings."""
    if Teams not in findings:
        return
    rows = problem_rows(findings)
    if not any(row.of_program for row in rows):
        yield Paragraph("No problem found with this program's threads.")
    for row in rows:
        yield Paragraph(f"{problem_text(row)}.", "yellow" if row.of_program else "")
        yield Paragraph(f"To change: {row.remedy}.", "dim", 2)
    yield Paragraph(_utilisation(findings))
    yield Paragraph(" | ".join(_settings(findings)), "dim")


def problem_text(row: ThreadProblemRow) -> str:
    """`Oversubscription: 6 torch threads on 2 allowed cores: they waited 5.64 s for each other, ...`."""
    at = "" if row.line is None else f", most at {shorten.place(row.line)}"
    kind = row.problem.replace("_", " ").capitalize()
    return printable(f"{kind}: {row.what}{at}")


def _utilisation(findings: Findings) -> str:
    """VTune's histogram in a line."""
    teams, rows = findings[Teams], utilisation_rows(findings)
    shares = ", ".join(f"{row.values['utilisation']} {units.percent(row.values['share'])}" for row in rows)
    of = "" if teams.allowed_cores is None else f" of {units.plain(teams.allowed_cores)}"
    mean = _mean(teams)
    by = "" if len(teams.activity) else " (from readings 0.5 s apart: the sampler did not run)"
    spun_ns, wall_ns = teams.spun_ns or 0, findings.wall_ns or 0
    spun = (
        f" Team members spun at least {units.duration(spun_ns)}."
        if wall_ns and is_named(spun_ns, wall_ns, OF_TABLE)
        else ""
    )
    return f"Threads that ran: {units.tenths(mean)}{of} on average; of the time {shares}{by}.{spun}"


def _mean(teams: Teams) -> float:
    """The mean number of threads that ran."""
    time_ns = teams.active.end_ns - teams.active.start_ns
    return float((teams.active.active_ppm * (time_ns / max(int(time_ns.sum()), 1))).sum() / 1e6)


def _settings(findings: Findings) -> Iterator[str]:
    """The allowed cores with the reason, and all settings of numbers of threads."""
    recording = findings.trace.recording
    yield _cores(recording)
    for name, title in (("threads", "torch threads"), ("interop_threads", "inter-op threads")):
        number = recording.number("torch", name)
        if number is not None:
            yield f"{title} {units.plain(number)}"
    known = recording.fact("environment")
    for name, value in (known if isinstance(known, dict) else {}).items():
        if name.startswith(_VARIABLES):
            yield printable(f"{name}={value}")
    children = findings.get(WorkerFindings)
    for number in [] if children is None else children.loaders.workers.tolist():
        yield f"DataLoader workers {number}"


def _cores(recording: Recording) -> str:
    """`2 of 8 cores by affinity, 1 physical, on 1 NUMA node`."""
    names = ("cores", "cores_allowed", "cgroup_cores", "physical_cores", "numa_nodes")
    cores, allowed, quota, physical, nodes = (recording.number("host", name) for name in names)
    if allowed is None:
        return "cores not known"
    of = f" of {units.plain(cores)}" if cores is not None and cores != allowed else ""
    text = f"{units.plain(allowed)}{of} core{'' if allowed == 1 and not of else 's'}"
    text += f", quota {units.plain(quota)}" if quota is not None else ""
    text += f", {units.plain(physical)} physical" if physical is not None and physical != allowed else ""
    text += f", {units.plain(nodes)} NUMA node{'' if nodes == 1 else 's'}" if nodes is not None else ""
    return text


def operator_teams(findings: Findings) -> Iterator[Block]:
    """The operators with most time for which it is known how many threads ran."""
    teams, wall_ns = findings.get(Teams), max(findings.wall_ns or 0, 1)
    if teams is None or (teams.threads or 1) < 2:
        return
    rows = [row for row in team_rows(findings) if is_named(row.self_ns, wall_ns, OF_TABLE)][:_MOST]
    if rows:
        yield Heading("Teams", f"threads that ran in operators, of {teams.threads}; spinning ones count too")
        yield Table(_columns(rows, wall_ns))


def _native_columns(rows: Sequence[OperatorTeamRow]) -> list[Column]:
    """CPU time of OpenMP's library, if it was sampled."""
    if all(row.spun_ns is None for row in rows):
        return []
    return [
        figures("spinning", (units.duration(row.spun_ns) for row in rows), 3),
        figures("scheduling", (units.duration(row.scheduling_ns) for row in rows), 5),
        figures("locks", (units.duration(row.locks_ns) for row in rows), 5),
    ]


def _columns(rows: Sequence[OperatorTeamRow], wall_ns: int) -> list[Column]:
    lines = ["-" if row.line is None else shorten.place(row.line) for row in rows]
    return [
        figures("of wall", (units.percent(row.self_ns / wall_ns) for row in rows)),
        figures(
            "active",
            (f"{units.hundredths(row.active)} ±{units.hundredths(row.error)}" for row in rows),
            style="bold",
        ),
        figures("of team", (units.percent(row.efficiency) for row in rows), 2),
        figures("idle", (units.duration(row.idle_ns) for row in rows), 3),
        *_native_columns(rows),
        figures("gain", (units.duration(row.gain_ns) for row in rows), 2),
        figures("not running", (units.duration(row.not_running_ns) for row in rows), 3),
        figures("samples", (units.count(row.looks) for row in rows), 4),
        Column("operator", [printable(row.operator) for row in rows], least=12),
        Column("line", [printable(line) for line in lines]),
    ]
