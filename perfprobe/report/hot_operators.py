"""The table of hot operators."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from perfprobe.report import columns, shorten
from perfprobe.report.base import Layout
from perfprobe.report.cells import cpu_column, durations, line_column, module_column
from perfprobe.report.collisions import told_apart
from perfprobe.report.columns import Column
from perfprobe.report.made_from import made_from
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.report.ranking import ranked, rows_shown
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import GAP_TEXTS, Gap, Phase, Trace

TOP = 20
NARROW = 120  # below this many cells, words are abbreviated

_PHASES = {
    Phase.FORWARD: "forward",
    Phase.BACKWARD: "backward",
    Phase.RECOMPUTE: "recompute",
    Phase.COMPILE: "compile",
    Phase.OTHER: "other",
}
_SHORT_PHASES = {
    Phase.FORWARD: "fwd",
    Phase.BACKWARD: "bwd",
    Phase.RECOMPUTE: "rec",
    Phase.COMPILE: "comp",
    Phase.OTHER: "-",
}
_PREFIX = "aten::"
_KERNEL = "inductor::cpp_"
_ENGINE = "autograd::engine::"


def hot_operators(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table, or why there is none."""
    hotspots = findings.hotspots
    assert hotspots is not None
    if len(hotspots.rows) == 0:
        yield paragraph(f"No operators{_why_none(findings, hotspots)}.", layout.width, "yellow")
        return
    shown = ranked(hotspots.rows, layout.most(TOP), layout.sort)
    placed = columns.fit(_columns(findings.trace, hotspots, shown, layout), layout.width)
    yield heading("Hot operators", _rows_shown(hotspots, shown, layout), layout.width)
    yield columns.table(told_apart(placed, _signatures(findings.trace, shown)))
    for note in _notes(hotspots):
        yield paragraph(note, layout.width, "dim")


def _columns(trace: Trace, hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> list[Column]:
    narrow = layout.width < NARROW
    whole_ns = max(hotspots.totals.self_ns, 1)
    names = _PHASES if not narrow else _SHORT_PHASES
    signatures = [shorten.signature(text) for text in _signatures(trace, shown)]
    found = [
        Column(
            "share",
            [units.percent(self_ns / whole_ns) for self_ns in shown.self_ns.tolist()],
            align="right",
            style="bold",
        ),
        Column("self", durations(shown.self_ns), align="right"),
        Column("total", durations(shown.total_ns), 6, align="right"),
        Column("calls", [units.count(calls) for calls in shown.calls.tolist()], 2, align="right"),
        Column("mean", durations(shown.mean_ns), 5, align="right"),
        cpu_column(shown),
        Column("operator", _operators(trace, shown, narrow), least=12, wish=20, style="bold"),
        Column("signature", signatures, 1, least=12, wish=32),
        line_column(trace, shown),
        module_column(hotspots, shown),
        Column("phase", [names[Phase(phase)] for phase in shown.phase.tolist()], 3, style="dim"),
    ]
    measured = bool((hotspots.rows.cpu_ns >= 0).any())
    return [column for column in found if column.title != "cpu" or measured]


def _operators(trace: Trace, shown: HotspotRows, narrow: bool) -> list[str]:
    strings = trace.recording.strings
    texts = []
    for name, overload in zip(shown.name.tolist(), shown.overload.tolist(), strict=True):
        text = printable(strings[name]) if name >= 0 else "(unknown)"
        text = text.removeprefix(_ENGINE)
        text = text.removeprefix(_PREFIX).removeprefix(_KERNEL) if narrow else text
        text = f"{text}.{printable(strings[overload])}" if strings[overload] else text
        texts.append(text + made_from(trace, name))
    return texts


def _signatures(trace: Trace, shown: HotspotRows) -> list[str]:
    texts = [trace.signature(signature) for signature in shown.signature.tolist()]
    return [units.ABSENT if text is None else printable(text) for text in texts]


def _rows_shown(hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> str:
    share = units.percent(int(shown.self_ns.sum()) / max(hotspots.totals.self_ns, 1))
    return f"{rows_shown(hotspots.rows, shown, layout.sort)}, {share} of operator time"


def _notes(hotspots: Hotspots) -> Iterator[str]:
    if hotspots.totals.backward_ns > 0:
        yield _backward_note(hotspots)
    if hotspots.totals.outermost_ns and hotspots.totals.outermost_cpu_ns is not None:
        yield _cpu_note(hotspots, hotspots.totals.outermost_ns, hotspots.totals.outermost_cpu_ns)


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
    losses = hotspots.losses
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
