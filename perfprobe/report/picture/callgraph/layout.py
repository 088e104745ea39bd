"""Decides in which row each box is, so that a picture is not wider than a page."""

from __future__ import annotations

from collections.abc import Mapping

from gprof2dot import Profile

from perfprobe.report.picture.callgraph.table import Table

DPI = 96
WIDEST = 1200  # pixels
_ROW = 0.86 * WIDEST * 72 / DPI  # points that boxes take side by side; edges take the rest
_TALLEST = 900 * 72 / DPI  # points that boxes may take; more rows of boxes have no place on a slide
_GAP = 18.0  # points between boxes side by side, and for an edge that passes
_PASSING = 30.0  # points for an arrow between boxes, some of which have figures
_ACROSS = WIDEST * 72 / DPI
_BELOW = 24.0  # points between rows


class Page:
    """Boxes on a page. tables: one for each node; rows: the row of each, from 0."""

    def __init__(self, profile: Profile, whole: int, sign: str = "", *, is_bounded: bool = True) -> None:
        """sign: is printed before the calls of functions. is_bounded: whether the page has a width."""
        self.nodes = profile.functions
        self.tables = {number: Table(node, whole, sign) for number, node in self.nodes.items()}
        widths = {number: table.width for number, table in self.tables.items()}
        self.rows = rows_of(profile, widths, _ROW if is_bounded else float("inf"))

    @property
    def is_full(self) -> bool:
        """Whether there is more on it than is legible."""
        tallest: dict[int, float] = {}
        across: dict[int, float] = {}
        for number, row in self.rows.items():
            tallest[row] = max(tallest.get(row, 0.0), self.tables[number].height + _BELOW)
            across[row] = across.get(row, 0.0) + self.tables[number].width + _GAP
        for number, node in self.nodes.items():
            for callee in node.calls:
                first, last = sorted((self.rows[number], self.rows[callee]))
                for row in range(first + 1, last):
                    across[row] += _PASSING
        return sum(tallest.values()) > _TALLEST or max(across.values(), default=0.0) > _ACROSS


def rows_of(profile: Profile, widths: Mapping[int, float], widest: float) -> dict[int, int]:
    """The row of each box: below all of its callers, and as far down as it takes to fit into `widest` points.

    Of boxes that do not fit side by side, those that call nothing go down first, lightest first.
    """
    nodes = profile.functions
    order = _order(profile)
    at = {number: place for place, number in enumerate(order)}
    callers: dict[int, list[int]] = {number: [] for number in order}
    for number in order:
        for callee in nodes[number].calls:
            if at[number] < at[callee]:
                callers[callee].append(number)
    row: dict[int, int] = {}
    used: dict[int, float] = {}
    todo = set(order)
    level = 0
    while todo:
        ready = [number for number in todo if all(row.get(each, level) < level for each in callers[number])]
        ready.sort(key=lambda number: (not nodes[number].calls, -nodes[number].weighs, number))
        for number in ready:
            width = widths[number] + _GAP
            if used.get(level, 0.0) and used[level] + width > widest:
                continue
            row[number] = level
            used[level] = used.get(level, 0.0) + width
            todo.discard(number)
        level += 1
    return row


def _order(profile: Profile) -> list[int]:
    """The boxes so that callers come first, except in circles."""
    found: list[int] = []
    seen: set[int] = set()
    nodes = profile.functions
    called = {callee for number, node in nodes.items() for callee in node.calls if callee != number}
    for top in [*(number for number in nodes if number not in called), *nodes]:
        stack = [(top, iter(nodes[top].calls))] if top not in seen else []
        seen.add(top)
        while stack:
            number, callees = stack[-1]
            callee = next((each for each in callees if each not in seen), None)
            if callee is None:
                found.append(number)
                stack.pop()
            else:
                seen.add(callee)
                stack.append((callee, iter(nodes[callee].calls)))
    return found[::-1]
