"""Ranks of one run: what each did, which rank made the others wait, and the collectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranks import CollectiveRow, RankRow, collective_rows, rank_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
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
    yield Table(_rank_columns(rows))
    for text in _clocks(rows):
        yield Paragraph(text, "dim", 2)
    if kinds:
        yield Heading("Collectives", _unmatched(found))
        yield Table(_collective_columns(kinds))


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
    text = f"Straggler: rank {_number(row)} began collectives {lost} later than the next rank, summed."
    phase = f"in the phase {row.phase}: {_more(row.phase_ns)}" if row.phase else ""
    line = f"at {printable(row.line)}: {_more(row.line_ns)}" if row.line else ""
    where = ", ".join(filter(None, (phase, line)))
    return f"{text} It lost the time {where} than the others." if where else f"{text} Where is not known."


def _more(time_ns: int | None) -> str:
    return f"{units.duration(time_ns)} more a step"


def _number(row: RankRow) -> str:
    return "?" if row.rank is None else str(row.rank)


def _rank_columns(rows: Sequence[RankRow]) -> list[Column]:
    def part(title: str, name: str) -> Column:
        texts = [units.percent(getattr(row, name) / row.whole_ns if row.whole_ns else None) for row in rows]
        return Column(title, texts, align="right")

    def time(title: str, name: str) -> Column:
        return Column(title, [units.duration(getattr(row, name)) for row in rows], align="right")

    return [
        Column("rank", [_number(row) for row in rows], align="right"),
        Column("host", [printable(row.host or "") for row in rows], rank=3),
        Column("steps", [units.count(row.steps) for row in rows], align="right"),
        time("median step", "median_ns"),
        part("computing", "computing_ns"),
        part("overlap", "overlapped_ns"),
        part("communicating", "communicating_ns"),
        part("other", "other_ns"),
        time("waiting", "waited_ns"),
        time("transfer", "transfer_ns"),
        time("began last by", "lost_ns"),
        Column("more than others in", [row.phase or "" for row in rows]),
        Column("line", [printable(row.line or "") for row in rows]),
    ]


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


def _collective_columns(kinds: Sequence[CollectiveRow]) -> list[Column]:
    has_groups = any(row.group for row in kinds)
    rates = [row.bus_bytes_per_second for row in kinds]
    return [
        Column("collective", [printable(row.name) for row in kinds]),
        *([Column("group", [printable(row.group or "") for row in kinds])] if has_groups else []),
        Column("calls", [units.count(row.calls) for row in kinds], align="right"),
        Column("size", [units.size(row.size_bytes) for row in kinds], align="right"),
        Column("time", [units.duration(row.total_ns) for row in kinds], align="right"),
        Column(
            "mean time", [units.duration(row.total_ns / max(row.calls, 1)) for row in kinds], align="right"
        ),
        Column("transfer", [units.duration(row.transfer_ns) for row in kinds], align="right"),
        Column(
            "bus rate", ["" if rate is None else f"{units.size(rate)}/s" for rate in rates], align="right"
        ),
    ]
