"""Ranks on the first screen: the one that the others waited for, or that the others are missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.ranks import rank_number, world_size
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.phase_texts import LONG_TEXTS
from perfprobe.report.section.screen.places import place_in, whole_percent
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import OtherRank
from perfprobe.tables.ranks import Rank, Ranks
from perfprobe.tables.steps import PHASE_TEXTS, StepPhase

_PHASES = {PHASE_TEXTS[phase]: f"in {text}" for phase, text in LONG_TEXTS.items()}
_PHASES[PHASE_TEXTS[StepPhase.OTHER]] = "outside of model and loader"


def ranks_lines(findings: Findings) -> Iterator[ScreenRow]:
    """RANKS: the straggler with phase and line; of one rank alone, that the others are missing."""
    found = findings.get(Ranks)
    if found is None or len(found.ranks) < 2:
        yield from _alone(findings)
        return
    size = found.world_size
    given = f"{len(found.ranks)}{'' if size is None else f' of {size}'} ranks"
    if found.straggler is None:
        yield said("RANKS", f"{given}: none began collectives over 1 % later than the others")
        return
    yield from _straggler(found.ranks[found.straggler])


def to_straggler(findings: Findings) -> str | None:
    """The command to run next where this rank waits much for another one: to look at that one."""
    other = findings.get(OtherRank)
    if other is None:
        return None
    return f"report --view functions {shlex.quote(printable(findings[Ranks].ranks[other.rank].path))}"


def _alone(findings: Findings) -> Iterator[ScreenRow]:
    size = world_size(findings)
    if size is not None and size > 1:
        number = rank_number(findings)
        which = "one rank" if number is None else f"rank {number}"
        yield said("RANKS", f"{which} of {size}", ": report on all files to see which rank made others wait")


def _straggler(rank: Rank) -> Iterator[ScreenRow]:
    phase = f"{_PHASES[rank.phase]}: " if rank.phase else ""
    number = "?" if rank.rank is None else rank.rank
    share = rank.lost_ns / max(rank.parts.whole_ns, 1)
    facts: dict[str, Any] = {"time_ns": rank.lost_ns, "share": share, "line": rank.line}
    yield said("RANKS", f"straggler: rank {number}", *place_in(rank.line, " at "), style="bold", **facts)
    waited = f"{phase}others waited {units.duration(rank.lost_ns)} = {whole_percent(share)} of the time"
    more_ns = rank.line_ns if rank.line is not None else rank.phase_ns
    yield said("", waited, f"; {units.duration(more_ns)} more a step there" if more_ns else "")
