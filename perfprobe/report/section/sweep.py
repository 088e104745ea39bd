"""Settings of threads, measured on the whole program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perfprobe.report import shorten
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.sweep import OperatorSweepRow, Sweep, SweepRow


def sweep_blocks(
    sweep: Sweep, rows: Sequence[SweepRow], best: SweepRow | None, ignored: bool
) -> Iterator[Block]:
    """A table of the settings, then the recommended one as a line to paste."""
    if not rows:
        yield Paragraph("Nothing was measured.", "yellow")
        return
    pairs = min(row.pairs for row in rows)
    ended = f"; ended early: {sweep.stopped}" if sweep.stopped else ""
    yield Heading("Settings of threads", f"{sweep.program}; {pairs} paired runs of each{ended}")
    yield Table(_columns(rows, sweep))
    for note in _notes(rows, best, ignored):
        yield Paragraph(note)


def _columns(rows: Sequence[SweepRow], sweep: Sweep) -> list[Column]:
    time = "step" if sweep.by_steps else "run"
    return [
        Column("setting", [row.setting for row in rows]),
        figures(time, (units.duration(row.time_ns) for row in rows)),
        figures(
            "gain",
            ("" if at == 0 else f"{units.hundredths(row.gain)}x" for at, row in enumerate(rows)),
            style="bold",
        ),
        figures("interval", ("" if at == 0 else _interval(row) for at, row in enumerate(rows))),
        figures("torch threads", (units.count(row.threads) for row in rows), 2),
    ]


def _interval(row: SweepRow) -> str:
    return units.interval(units.hundredths(row.low), units.hundredths(row.high))


def _notes(rows: Sequence[SweepRow], best: SweepRow | None, ignored: bool) -> Iterator[str]:
    if ignored:
        yield (
            f"The program sets its own number of threads, {rows[0].threads}, so settings have no effect. "
            "Make the number an option of the program, or remove torch.set_num_threads."
        )
    elif best is None:
        yield "No setting is certainly faster than the unchanged program."
    else:
        yield (
            f"Faster: {best.to_paste} ({units.hundredths(best.gain)}x, {_interval(best)}, "
            f"{best.pairs} pairs)."
        )
    if rows[-1].low is None:
        yield "With fewer than 5 pairs nothing is certain: use more --rounds."


def operator_blocks(
    found: Measurements, rows: Sequence[OperatorSweepRow], totals_ns: Mapping[int, float]
) -> Iterator[Block]:
    """A table of operators with a column for each number of threads, and what all of them take together."""
    if not rows:
        yield Paragraph("No operator was measured with more than one number of threads.", "yellow")
    else:
        yield Heading("Threads of operators", "time of one call, CPU time of its slowest thread")
        yield Table(_operator_columns(rows))
    if totals_ns:
        sums = ", ".join(f"{number} {units.duration(time_ns)}" for number, time_ns in totals_ns.items())
        yield Paragraph(f"All their calls in the program, by threads: {sums}.")
    for note in (*found.notes, *([f"Ended early: {found.stopped}."] if found.stopped else [])):
        yield Paragraph(printable(note), "dim")


def _operator_columns(rows: Sequence[OperatorSweepRow]) -> list[Column]:
    threads = sorted({each.threads for row in rows for each in row.times})
    by_threads = [{each.threads: each.time.value for each in row.times} for row in rows]
    times = [
        figures(
            f"{number} thread{'' if number == 1 else 's'}",
            (units.duration(times.get(number)) for times in by_threads),
        )
        for number in threads
    ]
    return [
        *times,
        figures("best", (units.count(row.best) for row in rows), style="bold"),
        figures("speed-up", (f"{units.hundredths(row.speedup)}x" for row in rows)),
        Column("operator", [printable(row.operator) for row in rows], least=12),
        Column("inputs", [printable(shorten.signature(row.signature)) for row in rows], 2, least=20),
        Column("line", [printable(row.line or units.ABSENT) for row in rows], 3),
    ]
