"""The flame graph: Python functions with what they called below, and the operators that ran as leaves.

A tree of rectangles for each weight: time of the steps or of the run, CPU time by samples, time on GPUs,
memory that was allocated. Its rectangles are bounded: the paths with least weight are joined, and rectangles
too narrow to see left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfprobe.report.export.flames import Flames, Frame, Paths
from perfprobe.report.page.allocated import allocated
from perfprobe.report.page.packed import Packed, Texts, shown
from perfprobe.report.page.places import Places, own_files
from perfprobe.report.page.timeline import KINDS
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.spent import ApartTimes, LoopSpent, RunSpent, SpentTime
from perfprobe.tables.trace import Line, shown_name

FRAMES = ("own", "library", "inside")  # what is no operator: functions of the program, others, "(...)"
DEEPEST = 200  # frames of a path
MOST_PATHS, MOST_STEPS = 20_000, 2_000_000
_NARROWEST = 4000  # a rectangle has at least this part of the whole
_LONGEST_NAME = 200
_IMPORT = "<frozen importlib."  # five functions of it for each import


class Weight(NamedTuple):
    """What a tree is of. is_spent: wall time, about which there is more to say. unit: "ns" or "bytes"."""

    what: str
    spent: LoopSpent | RunSpent
    is_spent: bool = False
    unit: str = "ns"


class Node:
    """A function or operator in a tree. whole: its weight with all below."""

    __slots__ = ("below", "frame", "kind", "whole")

    def __init__(self, frame: int, kind: int) -> None:
        self.frame, self.kind, self.whole = frame, kind, 0
        self.below: dict[int, Node] = {}


class Tree:
    """All paths with a weight, merged."""

    def __init__(self, flames: Flames, paths: Paths, weights: Int64) -> None:
        self.top = Node(-1, 0)
        self._hidden = {
            at for at, frame in enumerate(flames.frames) if (frame.file or "").startswith(_IMPORT)
        }
        self._operator = flames.rows.name.tolist()
        self._phase = flames.rows.phase.tolist()
        order = np.argsort(-weights, kind="stable")
        self.left = MOST_STEPS
        self.rest = 0
        for at, row in enumerate(order[weights[order] > 0].tolist()):
            weight = int(weights[row])
            if at >= MOST_PATHS or self.left <= 0:
                self.rest += weight
            else:
                self._add(paths[row], row, weight)

    def _add(self, path: Sequence[int], row: int, weight: int) -> None:
        node = self.top
        node.whole += weight
        last = len(path) - 1
        for depth, frame in enumerate(path[:DEEPEST] if last >= DEEPEST else path):
            if frame in self._hidden:
                continue
            is_operator = depth == last and self._operator[row] >= 0
            kind = max(self._phase[row], 0) if is_operator else -1
            node = node.below.setdefault(frame, Node(frame, kind))
            node.whole += weight
            self.left -= 1

    def walk(self) -> Iterator[tuple[int, int, Node]]:
        """Depth, begin and node of each rectangle, outermost first and in order: the most first."""
        least = (self.top.whole + self.rest) // _NARROWEST
        todo = [(0, 0, self.top)]
        while todo:
            depth, begin, node = todo.pop()
            if depth:
                yield depth - 1, begin, node
            for below in sorted(node.below.values(), key=lambda each: -each.whole):
                if below.whole > least:
                    todo.append((depth + 1, begin, below))
                begin += below.whole


ALL_KINDS = (*KINDS, *FRAMES)


def flames(findings: Findings, packed: Packed, places: Places) -> dict[str, Any]:
    """The trees, their names, and notes; or why there are none."""
    texts, found, notes = Texts(), [], ""
    for weight in weights(findings):
        try:
            tree = packed_tree(tree_of(findings, weight), texts, packed, places)
        except InputError as error:
            notes = notes or f"{error.what}: {error.remedy}"
            continue
        found += [tree] if tree else []
    return {"trees": found, "names": texts.all(), "kinds": ALL_KINDS, "missing": "" if found else notes}


def weights(findings: Findings) -> Iterator[Weight]:
    """What there are trees of, the time of the steps or the run first."""
    spent = findings.get(LoopSpent) or findings.get(RunSpent)
    structure = findings.get(CallStructure)
    if spent is None or structure is None:
        return
    steps = f"{spent.steps:,} steps" if spent.steps > 1 else "the step"
    yield Weight(f"time of {steps}" if spent.steps else "time of the run", spent, True)
    sampled, sites = structure.sampled, structure.sites
    if bool((sampled.cpu_ns > 0).any()):
        yield Weight("CPU time of the run", _as_spent(sampled, sampled.stack, sampled.cpu_ns, sampled.look))
    if bool((sites.gpu_self_ns > 0).any()):
        look = np.zeros(len(sites), np.int8)
        yield Weight("time on GPUs", _as_spent(sites, sites.own_stack, sites.gpu_self_ns, look))
    rows = allocated(findings.trace)
    if rows is not None and len(rows):
        yield Weight("memory allocated", _of_rows(rows), unit="bytes")


def _as_spent(rows: Any, stack: Any, weight: Int64, look: Any) -> RunSpent:
    """Rows of the call structure by another weight than time, in the form that paths are made of."""
    none = np.full(len(rows), -1, np.int8)
    calls = np.zeros(len(rows), np.int64)
    hanging = rows.stack
    operator = (rows.name, rows.overload, rows.signature, rows.phase)
    table = SpentTime(rows.thread, stack, hanging, look, *operator, calls, np.maximum(weight, 0), none)
    return _of_rows(table)


def _of_rows(rows: SpentTime) -> RunSpent:
    return RunSpent(rows, int(rows.time_ns.sum()), 0, 0, ApartTimes.empty())


class Made(NamedTuple):
    """A tree with the frames that its nodes name. own: the program's own files."""

    weight: Weight
    flames: Flames
    tree: Tree
    frames: Sequence[Frame]
    own: set[str]


def tree_of(findings: Findings, weight: Weight) -> Made:
    """The tree of a weight. Raises InputError if there are no paths."""
    made = Flames(Findings(findings.trace, findings[CallStructure], weight.spent))
    paths = made.paths()
    tree = Tree(made, paths, weight.spent.rows.time_ns)
    return Made(weight, made, tree, made.frames, own_files(findings))


def packed_tree(made: Made, texts: Texts, packed: Packed, places: Places) -> dict[str, Any] | None:
    """The rectangles of a tree; None if it has no time."""
    weight, tree = made.weight, made.tree
    rows = sorted(
        (depth, begin, node.whole, *_named(made.frames[node.frame], node.kind, made.own, texts, places))
        for depth, begin, node in tree.walk()
    )
    if not rows:
        return None
    names = ("lane", "start", "length", "name", "line", "kind")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    whole = tree.top.whole + tree.rest
    return {
        "what": weight.what,
        "length": whole,
        "unit": weight.unit,
        "took": _text(whole, weight.unit),
        "lanes": 1 + max(row[0] for row in rows),
        "notes": [note for note in made.flames.notes() if "--by" not in note] if weight.is_spent else [],
        "rest": _text(tree.rest, weight.unit) if tree.rest else "",
        "rects": {name: packed.column(np.array(column, np.int64)) for name, column in columns},
    }


def _text(weight: int, unit: str) -> str:
    return units.size(weight) if unit == "bytes" else units.duration(weight)


def name_of(frame: Frame) -> str:
    """The name of a function or operator; the code of a module is `train.py`, `torch/__init__.py`."""
    if frame.name != "<module>" or not frame.file:
        return shown(shown_name(frame.name, narrow=True), _LONGEST_NAME)
    *_, folder, file = ["", *frame.file.split("/")]
    return shown(f"{folder}/{file}" if file == "__init__.py" else file, _LONGEST_NAME)


def line_of(frame: Frame) -> Line | None:
    """The line of an operator, or the first of a function."""
    if frame.file is None or (frame.line or 0) <= 0:
        return None
    return Line(frame.file, frame.line or 0, frame.name)


def _named(frame: Frame, kind: int, own: set[str], texts: Texts, places: Places) -> tuple[int, int, int]:
    """The numbers of a frame's name and line, and what it is. The line is the first of a function."""
    name = texts.number(name_of(frame))
    line = places.number(line_of(frame)) + 1
    if kind >= 0:
        return name, line, kind
    if frame.file is None:
        return name, 0, len(KINDS) + FRAMES.index("inside")
    return name, line, len(KINDS) + FRAMES.index("own" if frame.file in own else "library")
