"""The table of hot operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from rich.console import RenderableType

from perfprobe.report.render import columns
from perfprobe.report.render.collisions import told_apart
from perfprobe.report.render.paragraph import heading, paragraph
from perfprobe.report.rows.ranking import focus_text, ranked, rows_shown
from perfprobe.report.section.base import Layout
from perfprobe.report.section.cells import MARK, misleading, places
from perfprobe.report.section.efficiency_columns import efficiency_columns
from perfprobe.report.section.operator_columns import (
    NARROW,
    autograd_recorded,
    operator_columns,
    operators,
    signatures,
)
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import GAP_TEXTS, Gap, Phase, Trace

TOP = 20
_TITLES = {"line": "Operators by line", "module": "Operators by module"}
_WORTH_SAYING_PPM = 50_000  # an error of quantiles
_WORTH_SAYING_COMPILE = 0.05  # of operator time
_MOST_MARKED = 3  # rows of which the note says what they would be


def hot_operators(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table, or why there is none."""
    hotspots = findings[Hotspots]
    if len(hotspots.rows) == 0 and hotspots.whole_rows > 0:
        rows = units.count(hotspots.whole_rows)
        yield paragraph(
            f"No operators match {focus_text(hotspots.focus)}; without it there are {rows} rows.",
            layout.width,
            "yellow",
        )
        return
    if len(hotspots.rows) == 0:
        yield paragraph(f"No operators{_why_none(findings, hotspots)}.", layout.width, "yellow")
        return
    shown = ranked(hotspots.rows, layout.most(TOP), layout.sort)
    placed = columns.fit(_columns(findings, hotspots, shown, layout), layout.width)
    yield heading(
        _TITLES.get(hotspots.group, "Hot operators"), _rows_shown(hotspots, shown, layout), layout.width
    )
    yield columns.table(told_apart(placed, signatures(findings.trace, shown)))
    titles = [column.title for column, _ in placed]
    for note in [*_notes_on_rows(findings, hotspots, shown, layout, titles), *_notes(hotspots)]:
        yield paragraph(note, layout.width, "dim")


def _columns(
    findings: Findings, hotspots: Hotspots, shown: HotspotRows, layout: Layout
) -> list[columns.Column]:
    found = operator_columns(findings.trace, hotspots, shown, layout)
    return found if layout.columns == "autograd" else [*found, *efficiency_columns(findings, shown)]


def _rows_shown(hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> str:
    number = rows_shown(len(hotspots.rows), len(shown), layout.sort)
    text = f"{number}, {_share(hotspots, shown, layout)}"
    if hotspots.focus is None:
        return text
    of = f"{len(hotspots.rows):,} of {hotspots.whole_rows:,} rows"
    whole = f"focus {focus_text(hotspots.focus)}: {of}, {_share(hotspots, hotspots.rows, layout)}"
    return whole if len(shown) == len(hotspots.rows) else f"{whole}; {text}"


def _share(hotspots: Hotspots, rows: HotspotRows, layout: Layout) -> str:
    if layout.sort == "gpu":
        part_ns = int(np.maximum(rows.gpu_self_ns, 0).sum())
        return f"{units.percent(part_ns / max(hotspots.gpu_self_ns, 1))} of operators' time on GPUs"
    return f"{units.percent(int(rows.self_ns.sum()) / max(hotspots.totals.self_ns, 1))} of operator time"


def _notes_on_rows(
    findings: Findings, hotspots: Hotspots, shown: HotspotRows, layout: Layout, titles: Sequence[str]
) -> Iterator[str]:
    if layout.columns != "short":
        every = _columns(findings, hotspots, shown, replace(layout, width=NARROW))
        left_out = [column.title for column in every if column.title not in titles]
        if left_out:
            width = -(-columns.roomy_width(every) // 10) * 10
            yield f"Left out at this width: {', '.join(left_out)} (COLUMNS={width} shows all)."
    if bool(misleading(hotspots, shown).any()) and layout.columns != "autograd":
        yield _marked_note(findings.trace, hotspots, shown, has_total="total" in titles)
    if layout.columns == "autograd":
        yield _source_note(hotspots)
    error_ppm = int(shown.quantile_error_ppm.max())
    if error_ppm > _WORTH_SAYING_PPM:
        error = units.percent(error_ppm / 1e6)
        yield f"Median and p95 are within {error}: there are too many different rows for more."


def _marked_note(trace: Trace, hotspots: Hotspots, shown: HotspotRows, *, has_total: bool) -> str:
    """What rows would be if all their calls took as long as the median."""
    marked = np.flatnonzero(misleading(hotspots, shown)).tolist()
    names, lines = operators(trace, shown, narrow=True), places(trace, shown)
    told = [
        f"{_typical(shown, at, has_total=has_total)} ({names[at]}{f' at {lines[at]}' if lines[at] else ''})"
        for at in marked[:_MOST_MARKED]
    ]
    more = f"; {len(marked) - len(told):,} more" if len(marked) > len(told) else ""
    return (
        f"{MARK} A few calls far longer than the median (pre-emption, first touch of memory, a first call) "
        f"make over a quarter of the row's time. By median x calls: {'; '.join(told)}{more}."
    )


def _typical(shown: HotspotRows, at: int, *, has_total: bool) -> str:
    """What a sum that the table shows would be; the median is one of the calls' durations, so of total."""
    calls, median_ns = int(shown.calls[at]), int(shown.median_ns[at])
    self_time, total = (units.duration(int(times_ns[at])) for times_ns in (shown.self_ns, shown.total_ns))
    typical = units.duration(median_ns * calls)
    if self_time == total:
        return f"self {typical}, not {self_time}"
    if has_total:
        return f"total {typical}, not {total}"
    return f"{units.duration(median_ns)} x {units.count(calls)} = {typical} with what it calls"


def _source_note(hotspots: Hotspots) -> str:
    if autograd_recorded(hotspots):
        return "Self CPU and CPU total: as the autograd profiler measured them."
    return (
        "Self CPU and CPU total: as perfprobe's own observer measured them; in CPU total, a call inside "
        "another of its row counts once."
    )


def _notes(hotspots: Hotspots) -> Iterator[str]:
    if hotspots.focus is None:
        yield from _compile_note(hotspots)
    if hotspots.group != "row" or hotspots.focus is not None:
        return  # they are about all rows
    if hotspots.totals.backward_ns > 0:
        yield _backward_note(hotspots)
    if hotspots.totals.outermost_ns and hotspots.totals.outermost_cpu_ns is not None:
        yield _cpu_note(hotspots, hotspots.totals.outermost_ns, hotspots.totals.outermost_cpu_ns)


def _compile_note(hotspots: Hotspots) -> Iterator[str]:
    rows, whole_ns = hotspots.ungrouped, max(hotspots.totals.self_ns, 1)
    share = int(rows.self_ns[rows.phase == Phase.COMPILE].sum()) / whole_ns
    if share >= _WORTH_SAYING_COMPILE:
        yield (
            f"Phase compile: {units.percent(share)} of operator time is torch.compile's tracing, in first "
            "calls; more of its time lies between operators, at the same lines. Without these rows: "
            "--focus '^(fwd|bwd|rec|oth)$'"
        )


def _backward_note(hotspots: Hotspots) -> str:
    rows, backward_ns = hotspots.rows, hotspots.totals.backward_ns
    of_gap = {gap: int(rows.self_ns[(rows.phase == Phase.BACKWARD) & (rows.gap == gap)].sum()) for gap in Gap}
    without = [
        f"{units.percent(of_gap[gap] / backward_ns)} ({GAP_TEXTS[gap]})"
        for gap in sorted(of_gap, key=lambda gap: -of_gap[gap])
        if gap != Gap.NONE and of_gap[gap] > 0
    ]
    share = units.percent(hotspots.totals.linked_ns / backward_ns)
    text = f"Backward: {share} of its operator time has a line: its forward call's, unless both are given"
    return f"{text}; without: {', '.join(without)}." if without else f"{text}."


def _cpu_note(hotspots: Hotspots, outermost_ns: int, cpu_ns: int) -> str:
    what = "operators and ranges" if bool((hotspots.ranges.cpu_ns >= 0).any()) else "operators"
    start = f"CPU time: outermost {what} kept their own thread busy for"
    if cpu_ns >= outermost_ns:  # its clock is read just outside of theirs
        return f"{start} all of {units.duration(outermost_ns)}; that of other threads is not counted."
    return (
        f"{start} {units.duration(cpu_ns)} of {units.duration(outermost_ns)} "
        f"({units.percent(cpu_ns / outermost_ns)}); the rest was waiting, also for other threads, whose CPU "
        "time is not counted."
    )


def _why_none(findings: Findings, hotspots: Hotspots) -> str:
    """The collector's own reasons if it gave any, else what the recording lets us know."""
    losses = findings[Losses]
    reasons = [
        printable(f"{reason}; {remedy}" if remedy else reason)
        for source, reason, remedy in zip(losses.source, losses.reason, losses.remedy, strict=True)
        if source == "operators"
    ]
    if reasons:
        return f": {'; '.join(reasons)}"
    if not findings.whole:
        return " in the part that could be read"
    if len(hotspots.ranges):
        return ": only ranges were recorded"
    if findings.trace.recording.fact("torch") is None:
        return ": the program never imported torch"
    return ": nothing ran through torch while it was recorded"
