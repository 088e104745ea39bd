"""Ranks of one run: what each did, which rank made the others wait, and the collectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranks import CollectiveRow, RankRow, collective_rows, rank_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranks import Ranks


def rank_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`ranks` and `collectives`."""
    return {"ranks": rank_rows(findings), "collectives": collective_rows(findings)}


def ranks(findings: Findings, _: Choice) -> Iterator[Block]:
    """The straggler, a table of ranks and one of collectives."""
    found, rows, kinds = findings[Ranks], rank_rows(findings), collective_rows(findings)
    yield Heading("Ranks", _said(found))
    yield Paragraph(_straggler(found, rows), indent=2)
    yield Table(columns(_RANKS, rows))
    for said in _clocks(rows):
        yield Paragraph(said, "dim", 2)
    if kinds:
        yield Heading("Collectives", _unmatched(found))
        yield Table(columns(_COLLECTIVES, kinds))


def _said(found: Ranks) -> str:
    given = len(found.ranks)
    if found.world_size is None:
        return f"{given}: the recordings do not say how many there were"
    missing = found.world_size - given
    return f"{given} of {found.world_size}" + (": waiting and clocks need all of them" if missing > 0 else "")


def _straggler(found: Ranks, rows: Sequence[RankRow]) -> str:
    if len(rows) < 2:
        return "One rank alone does not show which rank it waited for: name the recordings of all ranks."
    if found.straggler is None:
        return "No straggler: no rank was the last to begin collectives by over 1 % of the time."
    row = rows[found.straggler]
    lost = f"{units.duration(row.lost_ns)} = {units.percent((row.lost_ns or 0) / max(row.whole_ns, 1))}"
    began = f"Straggler: rank {_number(row)} began collectives {lost} later than the next rank, in all."
    phase = f"in the phase {row.phase}: {_more(row.phase_ns)}" if row.phase else ""
    line = f"at {printable(row.line)}: {_more(row.line_ns)}" if row.line else ""
    where = ", ".join(filter(None, (phase, line)))
    return f"{began} It lost the time {where} than the others." if where else f"{began} Where is not known."


def _more(time_ns: int | None) -> str:
    return f"{units.duration(time_ns)} more a step"


def _number(row: RankRow) -> str:
    return "?" if row.rank is None else str(row.rank)


def _clocks(rows: Sequence[RankRow]) -> Iterator[str]:
    first = rows[0].host
    for row in rows[1:]:
        if row.clock_error_ns is None:
            yield f"Rank {_number(row)}: no collectives that align its clock."
            continue
        ahead = (
            "the same clock" if row.host == first and first else f"clock {units.duration(row.clock_ns)} ahead"
        )
        error = units.duration(row.clock_error_ns)
        yield f"Rank {_number(row)}: {ahead}; ends of collectives differ by {error} (median) after that."


def _unmatched(found: Ranks) -> str:
    return f"{units.count(found.unmatched)} left out that not all ranks have" if found.unmatched else ""


def _part(row: RankRow, time_ns: int) -> str:
    return units.percent(time_ns / row.whole_ns if row.whole_ns else None)


def _rate(row: CollectiveRow) -> str:
    rate = row.bus_bytes_per_second
    return "" if rate is None else f"{units.size(rate)}/s"


_TRANSFER = "Time of the fastest rank in each collective, summed."
_RANKS: tuple[Head[Sequence[RankRow]], ...] = (
    figure("rank", "Number of the process in the run.", _number),
    text("host", "Machine that it ran on.", lambda row: printable(row.host or ""), 3),
    figure(
        "steps",
        "Number of steps. Without steps, shares refer to the whole recording.",
        lambda row: units.count(row.steps),
    ),
    figure("median step", "Median duration of a steady step.", lambda row: units.duration(row.median_ns)),
    figure(
        "computing",
        "Share of time in operators (on GPUs in kernels), without communication.",
        lambda row: _part(row, row.computing_ns),
    ),
    figure(
        "overlap",
        "Share of time during which it computed and communicated at once.",
        lambda row: _part(row, row.overlapped_ns),
    ),
    figure(
        "communicating",
        "Share of time in collectives only.",
        lambda row: _part(row, row.communicating_ns),
    ),
    figure(
        "other",
        "Share of time without computing and communicating.",
        lambda row: _part(row, row.other_ns),
    ),
    figure(
        "waiting",
        "Time in collectives beyond the time of the fastest rank, summed over collectives.",
        lambda row: units.duration(row.waited_ns),
    ),
    figure("transfer", _TRANSFER, lambda row: units.duration(row.transfer_ns)),
    figure(
        "began last by",
        "How long the others waited for it to begin collectives. Those that overlap count once.",
        lambda row: units.duration(row.lost_ns),
    ),
    text(
        "more than others in",
        "Phase that takes longer than in other ranks by the largest amount.",
        lambda row: row.phase or "",
    ),
    text(
        "line",
        "Line that takes longer than in other ranks by the largest amount, outside of collectives.",
        lambda row: printable(row.line or ""),
    ),
)
_COLLECTIVES: tuple[Head[Sequence[CollectiveRow]], ...] = (
    text("collective", "Range that started the collective.", lambda row: printable(row.name)),
    text(
        "group",
        "Name of its process group, if recorded.",
        lambda row: printable(row.group or ""),
        shown=lambda row: row.group,
    ),
    figure(
        "calls",
        "Number of calls in each rank. Only calls that all ranks have count.",
        lambda row: units.count(row.calls),
    ),
    figure(
        "size",
        "Size of the input tensors of all calls of one rank; in traces, size of the messages.",
        lambda row: units.size(row.size_bytes),
    ),
    figure("time", "Time in these calls, mean over the ranks.", lambda row: units.duration(row.total_ns)),
    figure(
        "mean time",
        "Mean time of one call.",
        lambda row: units.duration(row.total_ns / max(row.calls, 1)),
    ),
    figure("transfer", _TRANSFER, lambda row: units.duration(row.transfer_ns)),
    figure(
        "bus rate",
        "Bytes that a rank sends, as nccl-tests counts them (all_reduce: 2(n-1)/n of the size), divided by "
        "the transfer time.",
        _rate,
    ),
)

RANKS = Section(
    "ranks",
    (Ranks,),
    ranks,
    rank_tables,
    titles=("Ranks", "Collectives"),
    guide="gpu",
    means="The ranks of one run, compared: computing and communication, the rank that made the others wait, "
    "the phase and line that made it late, and the collectives. Shown by `--view ranks` with the recordings "
    "of all ranks or their folder.",
    heads=(*_RANKS, *_COLLECTIVES),
    json={
        "ranks": "The section *ranks*.",
        "collectives": "The section *ranks*: the collectives.",
    },
)
