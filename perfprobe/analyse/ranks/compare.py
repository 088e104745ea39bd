"""Compares ranks: matches their collectives, aligns clocks, and finds who waited and who made others wait.

The i-th collective of a name in one rank is the i-th of that name in each other rank. No rank leaves a
collective of all ranks before the last one has entered it. So its ends are close together, and the clocks of
hosts are aligned by them. Data transfer of a call is the time of the fastest rank, and the rest is waiting,
as the TensorBoard plugin defines it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from perfprobe.analyse.ranks.parts import length, union
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranks import CollectiveKind, Rank, RankParts, Ranks
from perfprobe.tables.steps import PHASE_TEXTS, StepPhase, StepTimes
from perfprobe.tables.strings import Strings

_Kind: TypeAlias = tuple[str, str]  # name of the collective, and its process group

STRAGGLER_SHARE = 0.01  # a straggler loses more than this share of the time, as in HolisticTraceAnalysis
_MOST_OF_IT = 0.5  # a phase explains a straggler if it makes at least this share of the lost time
_LEAST_OF_LINE = 0.01  # of the rank's time; less is what ranks do once, such as their end
_SYNCHRONISING = (
    "all_reduce",
    "allreduce",
    "all_gather",
    "allgather",
    "barrier",
    "reduce_scatter",
    "all_to_all",
)

# What each of n ranks sends over the bus, as a multiple of the input's size (nccl-tests, doc/PERFORMANCE.md).
_BUS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: n - 1,  # nccl-tests' size is that of the output
    "allgather": lambda n: n - 1,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1,
    "reduce": lambda n: 1,
}


def compared(given: Sequence[Findings]) -> Ranks:
    """Compares the findings of ranks, each with `RankParts` and `StepTimes`."""
    found = sorted(given, key=lambda findings: _fact(findings, "rank") or 0)
    ranks = [_rank(findings) for findings in found]
    world_size = max((_fact(findings, "world_size") or 0 for findings in found), default=0) or None
    matched, unmatched = _matched(found)
    ranks = _aligned(ranks, matched)
    ranks, kinds = _with_waits(ranks, matched, world_size)
    ranks = _with_phases(ranks, found)
    most = max(range(len(ranks)), key=lambda at: ranks[at].lost_ns)
    whole_ns = max(rank.parts.whole_ns for rank in ranks)
    is_straggling = len(ranks) > 1 and ranks[most].lost_ns > STRAGGLER_SHARE * whole_ns
    return Ranks(ranks, kinds, world_size, unmatched, most if is_straggling else None)


def _rank(findings: Findings) -> Rank:
    recording, times = findings.trace.recording, findings[StepTimes]
    return Rank(
        path=recording.path,
        rank=_fact(findings, "rank"),
        host=recording.text("host", "name") or "",
        parts=findings[RankParts],
        median_ns=int(times.loops.median_ns[0]) if len(times.loops) else None,
    )


def _fact(findings: Findings, name: str) -> int | None:
    """Returns a number that torchrun or a trace gives for the rank; None if there is none."""
    return findings.trace.recording.rank_fact(name)


def _matched(found: Sequence[Findings]) -> tuple[Mapping[_Kind, list[Int64]], int]:
    """Returns by name and group the calls that all ranks have, and how many others exist.

    Rows: start, end, size, size of the group.
    """
    by_name: list[dict[_Kind, Int64]] = []
    for findings in found:
        calls, strings = findings[RankParts].collectives, findings.trace.recording[Strings]
        columns = np.stack([calls.start_ns, calls.end_ns, calls.size_bytes, calls.group_size])
        kinds = set(zip(calls.name.tolist(), calls.group.tolist(), strict=True))
        own = {kind: columns[:, (calls.name == kind[0]) & (calls.group == kind[1])] for kind in kinds}
        by_name.append({(strings[name] or "?", group): rows for (name, group), rows in own.items()})
    names = sorted(set.intersection(*(set(rows) for rows in by_name)))
    least = {name: min(rows[name].shape[1] for rows in by_name) for name in names}
    matched = {name: [rows[name][:, : least[name]] for rows in by_name] for name in names}
    total = sum(rows.shape[1] for one in by_name for rows in one.values())
    return matched, total - sum(least.values()) * len(found)


def _aligned(ranks: Sequence[Rank], matched: Mapping[_Kind, list[Int64]]) -> list[Rank]:
    """Returns the ranks with how far their clocks are ahead of the first rank's."""
    first, made = ranks[0], [ranks[0]]
    for at, rank in enumerate(ranks[1:], 1):
        differences = [rows[at][1] - rows[0][1] for (name, _), rows in matched.items() if _synchronises(name)]
        ends_ns = np.concatenate([np.empty(0, np.int64), *differences])
        if len(ends_ns) == 0:
            made.append(rank)
            continue
        same_host = rank.host != "" and rank.host == first.host
        clock_ns = 0 if same_host else int(np.median(ends_ns))
        error_ns = int(np.median(np.abs(ends_ns - clock_ns)))
        made.append(replace(rank, clock_ns=clock_ns, clock_error_ns=error_ns))
    return made


def _synchronises(name: str) -> bool:
    return any(word in name for word in _SYNCHRONISING)


def _with_waits(
    ranks: Sequence[Rank], matched: Mapping[_Kind, list[Int64]], world_size: int | None
) -> tuple[list[Rank], list[CollectiveKind]]:
    """Returns the ranks with waiting and lost times, and the kinds of collectives, most time first."""
    clocks_ns = np.array([rank.clock_ns for rank in ranks], np.int64)[:, None]
    waited_ns, transfer_ns = (np.zeros(len(ranks), np.int64) for _ in "ab")
    kinds, late = [], [(np.empty(0, np.int64), np.empty((2, 0), np.int64))]
    for (name, group), rows in matched.items():
        start_ns, end_ns = (np.stack([one[column] for one in rows]) - clocks_ns for column in (0, 1))
        taken_ns = end_ns - start_ns
        inside = _in_steps(ranks[0], start_ns[0])
        least_ns = taken_ns.min(axis=0)
        waited_ns += (taken_ns - least_ns)[:, inside].sum(axis=1)
        transfer_ns += least_ns[inside].sum()
        if len(ranks) > 1 and _synchronises(name):
            order = np.sort(start_ns[:, inside], axis=0)
            late.append((start_ns[:, inside].argmax(axis=0), order[-2:]))
        kinds.append(_kind(name, group, rows, taken_ns, world_size or len(ranks)))
    lost_ns = _lost_ns(late, len(ranks))
    columns = zip(ranks, waited_ns.tolist(), transfer_ns.tolist(), lost_ns, strict=True)
    made = [replace(rank, waited_ns=w, transfer_ns=t, lost_ns=lost) for rank, w, t, lost in columns]
    return made, sorted(kinds, key=lambda kind: -kind.total_ns)


def _lost_ns(late: Sequence[tuple[Int64, Int64]], ranks: int) -> list[int]:
    """How long the others waited for each rank to begin; collectives that overlap count once.

    late: of each kind of collective the rank that began last, and when the last but one and the last began.
    """
    last = np.concatenate([rank for rank, _ in late])
    spans = np.concatenate([each for _, each in late], axis=1)
    return [length(union(spans[:, last == rank])) for rank in range(ranks)]


def _in_steps(first: Rank, start_ns: Int64) -> Mask:
    """Returns which collectives began in the steps of the first rank. Times are by its clock."""
    parts = first.parts
    return np.asarray((start_ns >= parts.start_ns) & (start_ns < parts.start_ns + parts.whole_ns))


def _kind(name: str, group: str, rows: Sequence[Int64], taken_ns: Int64, world_size: int) -> CollectiveKind:
    sizes, in_group = rows[0][2], int(rows[0][3].max(initial=-1))
    members = in_group if in_group > 0 else world_size
    size_bytes = int(sizes.sum()) if len(sizes) and sizes.min() >= 0 else None
    factor = _BUS.get(name.partition(":")[2].removeprefix("_").removesuffix("_base"))
    return CollectiveKind(
        name=name,
        group=group,
        calls=taken_ns.shape[1],
        size_bytes=size_bytes,
        total_ns=int(taken_ns.sum(axis=1).mean()),
        transfer_ns=int(taken_ns.min(axis=0).sum()),
        bus_bytes=None if size_bytes is None or factor is None else size_bytes * factor(members),
    )


def _with_phases(ranks: Sequence[Rank], found: Sequence[Findings]) -> list[Rank]:
    """Returns the ranks with the phase and the line in which each exceeds the others' time the most."""
    phases = [_phases_ns(findings) for findings in found]
    lines = [
        {line: time_ns / max(rank.parts.steps, 1) for line, time_ns in rank.parts.lines.items()}
        for rank in ranks
    ]
    made = []
    for at, rank in enumerate(ranks):
        phase, phase_ns = _longest(phases, at)
        line, line_ns = _longest(lines, at)
        if line_ns * rank.parts.steps < _LEAST_OF_LINE * rank.parts.whole_ns:
            line, line_ns = None, 0
        if phase_ns * max(rank.parts.steps, 1) < rank.lost_ns * _MOST_OF_IT:  # all ranks wait in this phase
            phase, phase_ns = None, 0
        made.append(replace(rank, phase=phase or "", phase_ns=phase_ns, line=line, line_ns=line_ns))
    return made


def _longest(per_step: Sequence[Mapping[Any, float]], at: int) -> tuple[Any, int]:
    """Returns where one rank takes most longer than the others, and by how much; None and 0 if nowhere."""
    others = [one for number, one in enumerate(per_step) if number != at]
    longer = {
        name: own_ns - sum(one.get(name, 0) for one in others) / len(others)
        for name, own_ns in per_step[at].items()
        if others
    }
    if not longer:
        return None, 0
    name = max(longer, key=lambda key: longer[key])
    return (name, round(longer[name])) if longer[name] > 0 else (None, 0)


def _phases_ns(findings: Findings) -> dict[str, float]:
    """Returns the time of each phase in a steady step of the leading loop."""
    times = findings[StepTimes]
    phases = times.phases
    if len(times.loops) == 0 or not (steps := int(times.loops.steady[0])):
        return {}
    own = np.flatnonzero(phases.loop == 0)
    pairs = zip(phases.phase[own].tolist(), phases.time_ns[own].tolist(), strict=True)
    return {PHASE_TEXTS[StepPhase(phase)]: time_ns / steps for phase, time_ns in pairs}
