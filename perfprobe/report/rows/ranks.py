"""Rows of ranks and of their collectives."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranks import Rank, Ranks


@frozen(kw_only=True)
class RankRow:
    """One rank. Computing, overlap, communicating and other add up to its steps, or to its recording."""

    rank: int | None
    host: str | None
    path: str
    steps: int
    median_ns: int | None
    whole_ns: int
    computing_ns: int
    overlapped_ns: int
    communicating_ns: int
    other_ns: int
    waited_ns: int | None
    transfer_ns: int | None
    lost_ns: int | None
    clock_ns: int
    clock_error_ns: int | None
    is_straggler: bool
    phase: str | None
    phase_ns: int | None
    line: str | None
    line_ns: int | None


@frozen(kw_only=True)
class CollectiveRow:
    """Collectives of one name and process group in all ranks; figures as in `CollectiveKind`."""

    name: str
    group: str | None
    calls: int
    size_bytes: int | None
    total_ns: int
    transfer_ns: int | None
    bus_bytes_per_second: float | None


def rank_rows(findings: Findings) -> list[RankRow]:
    """Returns a row for each rank. Figures that need other ranks are None if only one was given."""
    found = findings[Ranks]
    return [_row(found, at, rank) for at, rank in enumerate(found.ranks)]


def world_size(findings: Findings) -> int | None:
    """Returns how many ranks the run of this recording had; None if not recorded."""
    return findings.trace.recording.rank_fact("world_size")


def rank_number(findings: Findings) -> int | None:
    """Returns the number of this recording's rank; None if not recorded."""
    return findings.trace.recording.rank_fact("rank")


def _row(found: Ranks, at: int, rank: Rank) -> RankRow:
    parts, several = rank.parts, len(found.ranks) > 1
    together_ns = parts.computing_ns + parts.communicating_ns - parts.overlapped_ns
    return RankRow(
        rank=rank.rank,
        host=rank.host or None,
        path=rank.path,
        steps=parts.steps,
        median_ns=rank.median_ns,
        whole_ns=parts.whole_ns,
        computing_ns=parts.computing_ns - parts.overlapped_ns,
        overlapped_ns=parts.overlapped_ns,
        communicating_ns=parts.communicating_ns - parts.overlapped_ns,
        other_ns=parts.whole_ns - together_ns,
        waited_ns=rank.waited_ns if several else None,
        transfer_ns=rank.transfer_ns if several else None,
        lost_ns=rank.lost_ns if several else None,
        clock_ns=rank.clock_ns,
        clock_error_ns=rank.clock_error_ns,
        is_straggler=at == found.straggler,
        phase=rank.phase or None,
        phase_ns=rank.phase_ns if rank.phase else None,
        line=f"{rank.line.file}:{rank.line.line}" if rank.line else None,
        line_ns=rank.line_ns if rank.line else None,
    )


def collective_rows(findings: Findings) -> list[CollectiveRow]:
    """Returns a row for each kind of collective, most time first."""
    found = findings[Ranks]
    several = len(found.ranks) > 1
    return [
        CollectiveRow(
            name=kind.name,
            group=kind.group or None,
            calls=kind.calls,
            size_bytes=kind.size_bytes,
            total_ns=kind.total_ns,
            transfer_ns=kind.transfer_ns if several else None,
            bus_bytes_per_second=kind.bus_bytes / kind.transfer_ns * 1e9
            if several and kind.bus_bytes is not None and kind.transfer_ns
            else None,
        )
        for kind in found.kinds
    ]
