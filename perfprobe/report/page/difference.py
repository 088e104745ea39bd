"""How the time of a step differs between two versions: one tree of both, by names of functions and operators.

Its rectangles are as wide as the mean of both versions, so they add up, and what only one has is seen too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perfprobe.report.export.flames import Frame
from perfprobe.report.page.flame import ALL_KINDS, Made, Node, line_of, name_of
from perfprobe.report.page.packed import Packed, Texts
from perfprobe.report.page.places import Places
from perfprobe.support import units
from perfprobe.tables.trace import Line

KINDS = ("faster2", "faster1", "same", "slower1", "slower2")
_LITTLE, _MUCH = 0.002, 0.02  # of the step: what a shade and a full colour begin with
_NARROWEST = 4000


class _Both:
    """A function or operator of both versions. whole: time of a step in each."""

    __slots__ = ("below", "line", "name", "whole")

    def __init__(self, name: str, line: Line | None) -> None:
        self.name, self.line = name, line
        self.whole = [0.0, 0.0]
        self.below: dict[tuple[str, int, int], _Both] = {}


def difference(
    before: Made, after: Made, texts: Texts, packed: Packed, places: Places
) -> dict[str, Any] | None:
    """The tree of both; None if one has no time."""
    top = _Both("", None)
    for side, made in enumerate((before, after)):
        _merge(made, side, top)
    if not all(top.whole):
        return None
    _pair_moved(top)
    rows = sorted(_rows(top, texts, places))
    names = ("lane", "start", "length", "before", "after", "name", "line", "kind")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return {
        "what": "difference",
        "unit": "ns",
        "length": _width(top),
        "took": units.signed(top.whole[1] / top.whole[0] - 1),
        "lanes": 1 + max(row[0] for row in rows),
        "notes": [],
        "rest": "",
        "rects": {name: packed.column(np.array(column, np.int64)) for name, column in columns},
    }


def _merge(made: Made, side: int, top: _Both) -> None:
    steps = max(made.weight.spent.steps, 1)
    todo: list[tuple[Node, _Both]] = [(made.tree.top, top)]
    while todo:
        node, both = todo.pop()
        both.whole[side] += node.whole / steps
        for below in node.below.values():
            frame = made.frames[below.frame]
            key = _key(frame, below, both is top)
            found = both.below.setdefault(key, _Both(key[0], None))
            found.line = line_of(frame)  # of the later version, if it has it
            if frame.name == "<module>":
                found.name = name_of(frame)
            todo.append((below, found))


def _key(frame: Frame, node: Node, is_outermost: bool) -> tuple[str, int, int]:
    """What both versions call it: an operator without its inputs, and scripts whatever their names."""
    if node.kind >= 0:
        return name_of(frame).partition(" ")[0], node.kind, frame.line or 0
    return frame.name if is_outermost and frame.name == "<module>" else name_of(frame), node.kind, 0


def _pair_moved(top: _Both) -> None:
    """Operators whose lines have moved: what only one version has at a line is paired in its order."""
    todo = [top]
    while todo:
        both = todo.pop()
        moved: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        for (name, kind, line), each in both.below.items():
            if not all(each.whole) and kind >= 0:
                moved.setdefault((name, kind), ([], []))[each.whole[0] == 0].append(line)
        for (name, kind), (gone, new) in moved.items():
            for before, after in zip(sorted(gone), sorted(new), strict=False):
                both.below[name, kind, after].whole[0] = both.below.pop((name, kind, before)).whole[0]
        todo += both.below.values()


def _width(both: _Both) -> int:
    return round(sum(both.whole) / 2)


def _rows(top: _Both, texts: Texts, places: Places) -> Iterator[tuple[int, ...]]:
    step_ns = max(top.whole)
    todo = [(0, 0, top)]
    while todo:
        depth, begin, both = todo.pop()
        if depth:
            before, after = map(round, both.whole)
            name, line = texts.number(both.name), places.number(both.line) + 1
            kind = _kind((both.whole[1] - both.whole[0]) / step_ns)
            yield depth - 1, begin, _width(both), before, after, name, line, kind
        end = begin + _width(both)
        for below in sorted(both.below.values(), key=lambda each: -sum(each.whole)):
            if _width(below) > step_ns / _NARROWEST and begin + _width(below) <= end:
                todo.append((depth + 1, begin, below))
            begin += _width(below)


def _kind(change: float) -> int:
    """The colour of a change, which is a part of the step: one of `KINDS`, behind all others."""
    strength = (abs(change) >= _LITTLE) + (abs(change) >= _MUCH)
    return len(ALL_KINDS) + 2 + (strength if change > 0 else -strength)
