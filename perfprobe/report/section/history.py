"""The table of successive versions of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from perfprobe.report.rows.history import Gain, HistoryRow
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable

MEANINGS = {
    "version": "The version: as it was named, with its commit; of a recording without either its file.",
    "date": "When it ran.",
    "runs": "Number of runs that the figures are means of.",
    "step": "Mean of the steady steps, without waiting for a processor if that is known.",
    "samples/s": "Samples a second: samples of a step divided by its time.",
    "used": "Share of the GPUs' time in which they worked; without a GPU, of the time of the processors that "
    "the program may use.",
    "peak": "Most memory: of tensors on the GPU, else of the process.",
    "gain": "How many times as fast as the version above. Certain: both were compared in pairs of runs, and "
    "the interval leaves out 1. Others are ratios of times, which differ between runs of one program too.",
    "of first": "How many times as fast as the first version: the product of the gains.",
}
_SURE, _UNSURE = "*", " "


def history_blocks(rows: Sequence[HistoryRow]) -> Iterator[Block]:
    """The table, and what its marks mean."""
    if not rows:
        yield Paragraph("There are no versions.", "yellow")
        return
    yield Heading("History", f"{len(rows):,} version{'' if len(rows) == 1 else 's'}")
    yield Table(_columns(rows))
    if any(gain is not None and gain.is_certain for row in rows for gain in (row.gain, row.of_first)):
        yield Paragraph(f"{_SURE} certain: compared in pairs of runs.", "dim")
    if any(row.is_other_machine for row in rows):
        others = ", ".join(row.version for row in rows if row.is_other_machine)
        yield Paragraph(f"On another machine than the version above: {printable(others)}.", "yellow")


def _columns(rows: Sequence[HistoryRow]) -> list[Column]:
    found = [
        Column("version", [printable(row.version) for row in rows], least=12),
        Column("date", [row.date for row in rows], 4),
        figures("runs", (units.count(row.runs) for row in rows), 5),
        figures("step", (units.duration(row.step_ns) for row in rows), style="bold"),
        figures("samples/s", (_blank(units.amount(row.samples_per_s)) for row in rows), 3),
        figures("used", (_blank(units.percent(row.utilisation)) for row in rows), 2),
        figures("peak", (_blank(units.size(row.peak_bytes)) for row in rows), 1),
        figures("gain", (_gain(row.gain) for row in rows), style="bold"),
        figures("of first", (_gain(row.of_first) for row in rows)),
    ]
    return [column for column in found if any(cell.strip() for cell in column.cells)]


def _blank(text: str) -> str:
    return "" if text == units.ABSENT else text


def _gain(gain: Gain | None) -> str:
    """As in `1.93x (+93 %)`, with a mark if it is certain."""
    if gain is None:
        return ""
    mark = _SURE if gain.is_certain else _UNSURE
    return f"{units.hundredths(gain.times)}x ({units.signed(gain.times - 1)}){mark}"


def document(rows: Sequence[HistoryRow]) -> dict[str, Any]:
    """The table for JSON."""
    found = [asdict(row) for row in rows]
    for row, source in zip(found, rows, strict=True):
        for name in ("gain", "of_first"):
            gain: Gain | None = getattr(source, name)
            if gain is not None:
                row[name]["is_certain"] = gain.is_certain
    return {"schema": 1, "meta": {}, "tables": {"history": found}}
