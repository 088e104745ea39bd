"""Rows of threads together: problems with their remedy, utilisation, and operators with their teams."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from typing import Any

import numpy as np

from perfprobe.models.native_parts import Waiting, waiting_of
from perfprobe.models.rules import RULES, thread_setting
from perfprobe.report import shorten
from perfprobe.report.rows.row import Values, place, values, word
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import NativeFunctions, NativePart, NativeSplit
from perfprobe.tables.processors import Processors
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import Teams, ThreadKind, ThreadProblem, ThreadProblems, Utilisation, WorkerTeams
from perfprobe.tables.trace import Line, Phase

_KEY = ("name", "signature", "frame", "phase")


@frozen(kw_only=True)
class ThreadProblemRow:
    """A problem with threads. threads: how many. cost_ns: the time of threads that it cost.

    what: the problem in words. remedy: what to change. line: the user line with most of it. of_program: False
    if the program is not the cause.
    """

    problem: str
    threads: int
    allowed_cores: float | None
    cost_ns: int
    line: Line | None = place()
    what: str
    remedy: str
    of_program: bool


@frozen(kw_only=True)
class OperatorTeamRow:
    """How many threads ran while only this operator was running.

    active: their mean number. error: two standard errors. efficiency: active divided by the threads of
    torch's team. The rest to 1 as CPU time: not_running_ns, while the caller waited for a processor; idle_ns,
    while the caller ran and other members did not (imbalance, serial parts). These are None if torch's number
    of threads is not known.
    CPU time in OpenMP's library, None without `--native`: spun_ns waiting at barriers and for work
    (imbalance), scheduling_ns starting teams and dividing work, locks_ns waiting for locks. gain_ns: VTune's
    potential gain, the sum of idle_ns and these, divided by the threads; a lower bound without `--native`.
    """

    operator: str
    signature: str | None
    line: Line | None = place()
    phase: str | None
    self_ns: int
    seen_ns: int
    looks: int
    active: float
    helpers: float
    error: float
    threads: int | None
    efficiency: float | None
    idle_ns: int | None
    not_running_ns: int | None
    spun_ns: int | None
    scheduling_ns: int | None
    locks_ns: int | None
    gain_ns: int | None


def problem_rows(findings: Findings) -> list[ThreadProblemRow]:
    """All problems, those of the program first, then the costliest first."""
    rows = findings.get(ThreadProblems)
    found = [] if rows is None else [_row(findings, findings[Teams], each) for each in values(rows)]
    return sorted(found, key=lambda row: (not row.of_program, -row.cost_ns))


def _row(findings: Findings, teams: Teams, value: dict[str, Any]) -> ThreadProblemRow:
    problem, allowed = ThreadProblem(value["problem"]), teams.allowed_cores
    if problem is ThreadProblem.WORKERS:
        (what, remedy), line = _workers(findings, value, allowed), _worst(findings)
    else:
        what, remedy = _texts(findings, problem, value, allowed)
        line = findings.trace.line(value["frame"])
    return ThreadProblemRow(
        problem=problem.name.lower(),
        threads=value["threads"],
        allowed_cores=allowed,
        cost_ns=value["cost_ns"],
        line=line,
        what=what,
        remedy=remedy,
        of_program=problem is not ThreadProblem.OTHER_PROCESSES,
    )


def cores(allowed: float | None) -> str:
    """`2 allowed cores`."""
    if allowed is None:
        return "an unknown number of cores"
    return f"{units.plain(allowed)} allowed core{'' if allowed == 1 else 's'}"


def _texts(
    findings: Findings, problem: ThreadProblem, value: dict[str, Any], allowed: float | None
) -> tuple[str, str]:
    """Returns what is wrong, and what to change."""
    threads, cost, name = value["threads"], units.duration(value["cost_ns"]), value["name"]
    if problem is ThreadProblem.OTHER_PROCESSES:
        return _other_processes(findings, threads, cost, allowed)
    if problem is ThreadProblem.SPINNING:
        spin = f"{threads} team thread{'' if threads == 1 else 's'} ran {cost} without work"
        why = f" ({name})" if name else ""
        return f"{spin}, while no operator ran{why}", RULES["wait-policy"].change
    if problem is ThreadProblem.SERIAL:
        serial = f"{name} runs on 1 of {threads} threads: the others were idle for {cost}"
        return serial, "`perfprobe bench` says whether another layout, dtype or operator is parallel"
    if problem is ThreadProblem.LOCK:
        lock = f"{threads} Python threads waited {cost} for Python's global lock: one runs at a time"
        return lock, f"{RULES['lock'].change}; torch's operators and most of numpy run without the lock"
    waited = f"they waited {cost} for each other"
    if problem is ThreadProblem.NESTED:
        return (
            f"{name}, on {cores(allowed)}: {waited}",
            "torch.set_num_threads(1), or fewer Python threads",
        )
    set_to = threads_set_to(findings, max(floor(allowed or 1), 1))
    named = f"{threads} torch threads{f' (set by {name})' if name else ''}"
    return _too_many(problem, named, cost, allowed, set_to)


def threads_set_to(findings: Findings, number: int) -> str:
    """What to write for another number of threads, and where."""
    teams = findings.get(Teams)
    line = None if teams is None else teams.set_at
    return thread_setting(number, line is not None) + ("" if line is None else f" at {shorten.place(line)}")


def _too_many(
    problem: ThreadProblem, threads: str, cost: str, allowed: float | None, set_to: str
) -> tuple[str, str]:
    """Texts for a team that is larger than the number of cores, by the reason."""
    waited = f"they waited {cost} for each other"
    if problem is ThreadProblem.AFFINITY:
        mask = f"{threads}, and the affinity mask has {cores(allowed)}: {waited}"
        return mask, f"{set_to}, or a wider mask (taskset, numactl, the job scheduler)"
    if problem is ThreadProblem.QUOTA:
        quota = f"{threads} under a cgroup quota of {cores(allowed)}: {cost} lost to it"
        return quota, f"{set_to}, or a larger quota"
    return f"{threads} on {cores(allowed)}: {waited}", set_to


def _other_processes(findings: Findings, used: int, cost: str, allowed: float | None) -> tuple[str, str]:
    """Texts for other processes: what they used, and what that costs a team."""
    found, teams = findings.get(Processors), findings[Teams]
    exact = found.others_cores if found is not None else None
    there = allowed if found is None or found.affinity_cores is None else found.affinity_cores
    much = f"{units.plain(used if exact is None else round(exact, 1))} of {cores(there)}"
    team = _cost_of_team(found, teams)
    what = f"not this program: they used {much}, threads waited {cost} for them{team}"
    return what, "a quiet machine, or fewer threads: `perfprobe threads --sweep` measures what is best"


def _cost_of_team(found: Processors | None, teams: Teams) -> str:
    """What others cost a team: at least what its caller waited for them, at most what all members did."""
    if found is None or not found.waited_ns or not found.others_ns or (teams.threads or 1) < 2:
        return ""
    is_main = found.threads.is_main
    part = found.others_ns / found.waited_ns
    waited_ns = np.maximum(found.threads.waited_ns, 0) * part
    member_ns = waited_ns[is_main | (teams.inventory.kind == ThreadKind.OPENMP)]
    least_ns, most_ns = float(waited_ns[is_main].sum()), min(float(member_ns.sum()), found.wall_ns)
    lost = " to ".join(units.duration(round(time_ns)) for time_ns in (min(least_ns, most_ns), most_ns))
    wall = units.duration(found.wall_ns)
    return f"; a team of {teams.threads} waits for its slowest member and lost {lost} of {wall}"


def _workers(findings: Findings, value: dict[str, Any], allowed: float | None) -> tuple[str, str]:
    teams = findings[WorkerTeams].several()
    each = f"{len(teams)} DataLoader workers with teams of up to {int(teams.threads.max())} threads"
    remedy = f"{RULES['worker-threads'].change} (torch itself gives each of them one thread)"
    return f"{each}, on {cores(allowed)}: they waited {units.duration(value['cost_ns'])}", remedy


def _worst(findings: Findings) -> Line | None:
    """The line of the worker that waited longest."""
    teams = findings[WorkerTeams].several()
    at = int(teams.waited_ns.argmax())
    line = Line(str(teams.file[at]), int(teams.line[at]), str(teams.function[at]))
    return line if line.line >= 0 else None


def utilisation_rows(findings: Findings) -> list[Values]:
    """VTune's histogram: a row for each class with its share of the time."""
    teams = findings.get(Teams)
    if teams is None:
        return []
    whole_ns = max(int(teams.times.time_ns.sum()), 1)
    return [
        Values(
            {
                "utilisation": word(Utilisation, value["utilisation"]),
                "time_ns": value["time_ns"],
                "share": value["time_ns"] / whole_ns,
            }
        )
        for value in values(teams.times)
    ]


def team_rows(findings: Findings) -> list[OperatorTeamRow]:
    """Operators that filled enough time between ticks, most time first."""
    teams = findings.get(Teams)
    if teams is None:
        return []
    waits = _waits(findings)
    return [_team(findings, teams, waits, value) for value in values(teams.operators)]


Waits = Mapping[tuple[int, ...], Mapping[Waiting, int]]


def _waits(findings: Findings) -> Waits | None:
    """CPU time of each operator in OpenMP's library, by what threads wait for; None if it was not sampled."""
    split, recording = findings.get(NativeSplit), findings.trace.recording
    if split is None:
        return None
    functions, strings = recording[NativeFunctions], recording[Strings]
    chosen = (split.times.kind == NativePart.WAIT) & (split.times.function >= 0)
    found: dict[tuple[int, ...], dict[Waiting, int]] = {}
    for value in values(split.times.take(chosen)):
        key = tuple(value[name] for name in _KEY)
        sums = found.setdefault(key, dict.fromkeys(Waiting, 0))
        sums[waiting_of(strings[functions.name[value["function"]]])] += value["cpu_ns"]
    return found


def _team(findings: Findings, teams: Teams, waits: Waits | None, value: dict[str, Any]) -> OperatorTeamRow:
    trace, threads = findings.trace, teams.threads
    callers, helpers = value["callers_ppm"] / 1e6, value["helpers_ppm"] / 1e6
    idle = None if threads is None else ((threads - 1) * callers - helpers) * value["self_ns"]
    away = None if threads is None else threads * (1 - callers) * value["self_ns"]
    spent = dict.fromkeys(Waiting, 0)
    spent.update((waits or {}).get(tuple(value[name] for name in _KEY), {}))
    lost = None if idle is None else idle + sum(spent.values())
    return OperatorTeamRow(
        operator=trace.recording[Strings][value["name"]],
        signature=trace.signature(value["signature"]),
        line=trace.line(value["frame"]),
        phase=word(Phase, value["phase"]),
        **{name: value[name] for name in ("self_ns", "seen_ns", "looks")},
        active=callers + helpers,
        helpers=helpers,
        error=value["error_ppm"] / 1e6,
        threads=threads,
        efficiency=None if threads is None else (callers + helpers) / threads,
        idle_ns=None if idle is None else round(idle),
        not_running_ns=None if away is None else round(away),
        spun_ns=None if waits is None else spent[Waiting.IMBALANCE],
        scheduling_ns=None if waits is None else spent[Waiting.SCHEDULING],
        locks_ns=None if waits is None else spent[Waiting.LOCKS],
        gain_ns=None if lost is None or not threads else round(max(lost, 0) / threads),
    )
