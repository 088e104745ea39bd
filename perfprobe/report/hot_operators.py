"""The table of hot operators."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from perfprobe.report import columns, shorten
from perfprobe.report.base import Layout
from perfprobe.report.columns import Column
from perfprobe.report.paragraph import paragraph
from perfprobe.report.ranking import ranked
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Phase, Trace

NARROW = 120  # below this many cells, words are abbreviated

_PHASES = {Phase.FORWARD: "forward", Phase.BACKWARD: "backward", Phase.OTHER: "other"}
_SHORT_PHASES = {Phase.FORWARD: "fwd", Phase.BACKWARD: "bwd", Phase.OTHER: "-"}
_SORT_NAMES = {"self": "self time", "total": "total time", "calls": "calls", "mean": "mean time"}
_PREFIX = "aten::"
_ENGINE = "autograd::engine::"


def hot_operators(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table, or why there is none."""
    hotspots = findings.hotspots
    assert hotspots is not None
    if len(hotspots.rows) == 0:
        yield paragraph(f"No operators: {_why_none(findings.trace, hotspots)}.", layout.width, "yellow")
        return
    shown = ranked(hotspots.rows, layout.top, layout.sort)
    placed = columns.fit(_columns(findings.trace, hotspots, shown, layout), layout.width)
    yield _title(hotspots, shown, layout)
    yield columns.table(placed)
    yield from _notes(hotspots, shown, layout)


def _columns(trace: Trace, hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> list[Column]:
    narrow = layout.width < NARROW
    shares = [
        None if is_range else time_ns / max(hotspots.totals.self_ns, 1)
        for is_range, time_ns in zip(shown.is_range.tolist(), shown.self_ns.tolist(), strict=True)
    ]
    names = _PHASES if not narrow else _SHORT_PHASES
    lines = _Lines(trace, shown)
    found = [
        Column("share", [units.percent(share) for share in shares], align="right", style="bold"),
        Column("self", _durations(shown.self_ns), align="right"),
        Column("total", _durations(shown.total_ns), 6, align="right"),
        Column("calls", [units.count(calls) for calls in shown.calls.tolist()], 2, align="right"),
        Column("mean", _durations(shown.mean_ns), 5, align="right"),
        Column("cpu", _durations(shown.cpu_ns), 8, align="right"),
        Column("operator", _operators(trace, shown, narrow), least=12, wish=20, style="bold"),
        Column("signature", _signatures(trace, shown), 1, least=12, wish=32),
        Column(
            "line", lines.cells, least=lines.least, wish=lines.least + 12, shorten=lines.shorten, style="cyan"
        ),
        Column(
            "module",
            [printable(hotspots.module(m) or "-") for m in shown.module.tolist()],
            7,
            least=12,
            wish=16,
        ),
        Column("phase", [names[Phase(phase)] for phase in shown.phase.tolist()], 3, style="dim"),
    ]
    return [column for column in found if column.title != "cpu" or bool((shown.cpu_ns >= 0).any())]


class _Lines:
    """The cells of the line column: `file.py:88 in attention`.

    Where Python ran in backward, its own line with that of the forward call below it; where there is no line,
    the reason.
    """

    def __init__(self, trace: Trace, shown: HotspotRows) -> None:
        own = [trace.line(frame) for frame in shown.frame.tolist()]
        forward = [trace.line(frame) for frame in shown.forward_frame.tolist()]
        self._names = shorten.file_names(
            [printable(line.file) for line in [*own, *forward] if line is not None]
        )
        self._places: list[str] = []  # `file.py:88`, never cut
        self.cells = [
            self._cell(line, other, Gap(gap))
            for line, other, gap in zip(own, forward, shown.gap.tolist(), strict=True)
        ]
        self.least = max((cell_len(place) for place in self._places), default=8)

    def _cell(self, own: Line | None, forward: Line | None, gap: Gap) -> str:
        if own is None:
            return f"({GAP_TEXTS[gap]})"
        if forward is None or forward == own:
            return self._text("", own)
        return f"{self._text('', own)}\n{self._text('forward ', forward)}"

    def _text(self, before: str, line: Line) -> str:
        place = f"{before}{self._names[printable(line.file)]}:{line.line}"
        self._places.append(place)
        return f"{place} in {printable(line.function)}"

    def shorten(self, text: str, width: int) -> str:
        """Cuts the function's name only."""
        place, word, function = text.partition(" in ")
        room = width - cell_len(place) - len(word)
        if not word or room >= cell_len(function):
            return shorten.cut(text, width)
        return f"{place}{word}{shorten.cut(function, room)}" if room >= 3 else place


def _operators(trace: Trace, shown: HotspotRows, narrow: bool) -> list[str]:
    strings = trace.recording.strings
    texts = []
    for name, overload in zip(shown.name.tolist(), shown.overload.tolist(), strict=True):
        text = printable(strings[name]) if name >= 0 else "(unknown)"
        text = text.removeprefix(_ENGINE).removeprefix(_PREFIX if narrow else "")
        texts.append(f"{text}.{printable(strings[overload])}" if strings[overload] else text)
    return texts


def _signatures(trace: Trace, shown: HotspotRows) -> list[str]:
    texts = [trace.signature(signature) for signature in shown.signature.tolist()]
    return ["-" if text is None else shorten.signature(printable(text)) for text in texts]


def _durations(times_ns: Int64) -> list[str]:
    return [units.duration(None if time_ns < 0 else time_ns) for time_ns in times_ns.tolist()]


def _title(hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> Text:
    rows = hotspots.rows
    which = f"all {len(rows):,}" if len(shown) == len(rows) else f"{len(shown):,} of {len(rows):,}"
    share = units.percent(_operator_ns(shown) / max(hotspots.totals.self_ns, 1))
    heading = Text("Hot operators", style="bold")
    more = f"{which} rows by {_SORT_NAMES[layout.sort]}, {share} of operator time"
    if len(heading) + 2 + len(more) > layout.width:
        return Text.assemble(heading, "\n", paragraph(more, layout.width, "dim"))
    return Text.assemble(heading, "  ", (more, "dim"))


def _notes(hotspots: Hotspots, shown: HotspotRows, layout: Layout) -> Iterator[Text]:
    totals = hotspots.totals
    notes = []
    if totals.backward_ns > 0:
        share = units.percent(totals.linked_ns / totals.backward_ns)
        notes.append(
            f"Backward: {share} of its operator time has a line: its forward call's, unless both are given."
        )
    if bool(shown.is_range.any()):
        notes.append(
            "Rows without a share are ranges (record_function): their self time is not operator time."
        )
    for note in notes:
        yield paragraph(note, layout.width, "dim")


def _operator_ns(rows: HotspotRows) -> int:
    return int(rows.self_ns[~rows.is_range].sum())


def _why_none(trace: Trace, hotspots: Hotspots) -> str:
    """The collector's own reasons if it gave any, else what the recording lets us know."""
    losses = hotspots.losses
    reasons = [
        printable(f"{reason}; {remedy}" if remedy else reason)
        for source, reason, remedy in zip(losses.source, losses.reason, losses.remedy, strict=True)
        if source == "operators"
    ]
    if reasons:
        return "; ".join(reasons)
    if trace.recording.fact("torch") is None:
        whole = trace.recording.complete
        return "the program never imported torch" if whole else "the recording ends before torch was imported"
    return "nothing ran through torch while it was recorded"
