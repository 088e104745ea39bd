"""The column of nn.Modules."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.rows.operators import Calls, ModuleShare
from perfprobe.report.section.block import Column
from perfprobe.support import units
from perfprobe.support.text import printable

_STANDS_OUT = 2  # a module stands out with this times its equal share of a row's self time
_STANDS_OUT_OF_TWO = 0.75  # of two modules, one stands out with this share


def module_column(rows: Sequence[Calls]) -> Column:
    """The module of each row; for several a pattern of their paths, or the one that stands out."""
    cells = [printable(_cell(row.module, row.modules)) for row in rows]
    rank = 6 if any(cell != units.ABSENT for cell in cells) else 10
    return Column("module", cells, rank, least=12, wish=18, shorten=_shortened)


def _cell(common: str | None, parts: Sequence[ModuleShare]) -> str:
    if len(parts) <= 1:
        return common or units.ABSENT
    first = parts[0]
    share = first.self_ns / max(sum(part.self_ns for part in parts), 1)
    if share > min(_STANDS_OUT / len(parts), _STANDS_OUT_OF_TWO):
        return f"{first.module or units.ABSENT} {units.percent(share)} of {len(parts)}"
    if common is not None and set(common) > set("*."):
        return f"{common} ({len(parts)})"
    in_order = [part.module or units.ABSENT for part in sorted(parts, key=lambda part: part.at)]
    if len(parts) == 2:
        return ", ".join(in_order)
    return f"{in_order[0]},{shorten.ELLIPSIS},{in_order[-1]} ({len(parts)})"


def _shortened(text: str, width: int) -> str:
    """The text cut to a width. Only the path is cut, not the number of modules."""
    path, blank, rest = text.partition(" ")
    room = width - cell_len(blank + rest)
    if cell_len(text) <= width or room < 3:
        return shorten.cut(text, width)
    return f"{shorten.cut(path, room)}{blank}{rest}"
