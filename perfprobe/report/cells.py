"""Cells that several tables have: durations, lines of code, modules."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.columns import Column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import HotspotRows, Hotspots, ModulePart
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Trace

_STANDS_OUT = 2  # times its fair share of a row's self time
_STANDS_OUT_OF_TWO = 0.75  # where twice the fair share would be all of it


def durations(times_ns: Int64) -> list[str]:
    """A cell for each time; -1 is not measured."""
    return [units.duration(None if time_ns < 0 else time_ns) for time_ns in times_ns.tolist()]


def cpu_column(shown: HotspotRows) -> Column:
    """CPU time; where no shown row has any, the first column to give way."""
    return Column("cpu", durations(shown.cpu_ns), 4 if bool((shown.cpu_ns >= 0).any()) else 8, align="right")


def line_column(trace: Trace, shown: HotspotRows) -> Column:
    """Where the rows are in the user's code: `file.py:88 in attention`, the place itself never cut."""
    lines = _Lines(trace, shown)
    return Column(
        "line", lines.cells, least=lines.least, wish=lines.least + 12, shorten=cut_function, style="cyan"
    )


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


def cut_function(text: str, width: int) -> str:
    """A line's text, `file.py:88 in attention`, with the function's name cut only."""
    place, word, function = text.partition(" in ")
    room = width - cell_len(place) - len(word)
    if not word or room >= cell_len(function):
        return shorten.cut(text, width)
    return f"{place}{word}{shorten.cut(function, room)}" if room >= 3 else place


def module_column(hotspots: Hotspots, shown: HotspotRows) -> Column:
    """The module of each row; of several what they have in common, or the one that stands out."""
    cells = [
        printable(_module_cell(hotspots.module(module), hotspots.parts_of(shown, at)))
        for at, module in enumerate(shown.module.tolist())
    ]
    return Column("module", cells, 7, least=12, wish=16, shorten=_shortened_module)


def _module_cell(common: str | None, parts: Sequence[ModulePart]) -> str:
    if len(parts) <= 1:
        return common or units.ABSENT
    first = parts[0]
    share = first.self_ns / max(sum(part.self_ns for part in parts), 1)
    if share > min(_STANDS_OUT / len(parts), _STANDS_OUT_OF_TWO):
        return f"{first.module or units.ABSENT} {units.percent(share)} of {len(parts)}"
    if common is not None and set(common) > set("*."):
        return f"{common} ({len(parts)})"
    in_order = [part.module or units.ABSENT for part in sorted(parts, key=lambda part: part.id)]
    if len(parts) == 2:
        return ", ".join(in_order)
    return f"{in_order[0]},{shorten.ELLIPSIS},{in_order[-1]} ({len(parts)})"


def _shortened_module(text: str, width: int) -> str:
    """Cuts the path only, not what is said about how many there are."""
    path, blank, rest = text.partition(" ")
    room = width - cell_len(blank + rest)
    if cell_len(text) <= width or room < 3:
        return shorten.cut(text, width)
    return f"{shorten.cut(path, room)}{blank}{rest}"
