"""Rule: this rank waits much for another one."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import OtherRank
from perfprobe.tables.ranks import Ranks

_MUCH = 0.1  # of the other's time


def other_rank(findings: Findings) -> OtherRank | None:
    """The one that all others wait for, if it is not this one."""
    found = findings.get(Ranks)
    if found is None or found.straggler is None:
        return None
    rank = found.ranks[found.straggler]
    is_much = rank.lost_ns >= _MUCH * max(rank.parts.whole_ns, 1)
    return OtherRank(found.straggler) if is_much and rank.path != findings.trace.recording.path else None
