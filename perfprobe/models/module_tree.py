"""Modules as a tree in which repeated ones are merged, and the one with most time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine
from perfprobe.tables.findings import ModuleTimes
from perfprobe.tables.stacks import Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

DEEPEST = 64  # levels of the tree that are shown
_FIGURES = ModuleTimes.combined(Combine.SUM)
_MOST = 0.6  # a module with this share of its parent's time is named in place of the parent
_MUCH = 0.25  # a module needs this share of its root's time


@frozen
class Node:
    """A module, or several similar ones, in a tree.

    name: its name in its parent, `layers.*` for several. type: its class. number: how many modules it stands
    for. figures: their sums, as in `ModuleTimes`. modules: their rows of `Modules`.
    """

    name: str
    type: str
    number: int
    figures: Mapping[str, int]
    parts: tuple[Node, ...] = ()
    modules: tuple[int, ...] = ()

    @property
    def total_ns(self) -> int:
        """The time by which the tree is ranked."""
        return self.figures["total_ns"]

    @property
    def own_ns(self) -> int:
        """That time without the modules in it."""
        return self.total_ns - sum(part.total_ns for part in self.parts)


@frozen
class HotModule:
    """A module, or several similar ones. path: `transformer.h.*.attn`. is_own: without the modules in it."""

    path: str
    node: Node
    is_own: bool = False

    @property
    def time_ns(self) -> int:
        """Time of its operators, and unless `is_own` of those of the modules in it; in all steps, in ns."""
        return self.node.own_ns if self.is_own else self.node.total_ns

    @property
    def name(self) -> str:
        """The path; with the class if the module has only a number, as in a Sequential: `0 (Conv2d)`."""
        is_number = self.path.rpartition(".")[2].isdigit() and self.node.type
        return f"{self.path} ({self.node.type})" if is_number else self.path

    @property
    def classes(self) -> set[str]:
        """The classes of the module and of those that it contains."""
        found, waiting = set[str](), [self.node]
        while waiting:
            node = waiting.pop()
            found.add(node.type)
            waiting += node.parts
        return found

    @property
    def phases(self) -> str:
        """The phases in which it has time: `forward + backward`."""
        return " + ".join(name for name in ("forward", "backward") if self.node.figures[f"{name}_ns"] > 0)


def hot_module(trace: Trace, times: ModuleTimes) -> HotModule | None:
    """The innermost module that has most of each parent's time and much of its root's, otherwise None."""
    roots = module_trees(trace, times)
    node = max(roots, key=lambda root: root.total_ns, default=None)
    if node is None:
        return None
    root, depth = node, 0
    path: list[str] = []
    while node.parts:
        part = max(node.parts, key=lambda each: each.total_ns)
        if part.total_ns < (_MOST if depth else _MUCH) * node.total_ns:
            break
        node, depth = part, depth + 1
        path.append(node.name)
    if len(roots) > 1 or path[:1] == ["*"]:  # `*` alone says nothing
        path.insert(0, root.name)
    return HotModule(".".join(path), node) if depth else None


def own_module(trace: Trace, times: ModuleTimes) -> HotModule | None:
    """The module with most time of its own, without the modules in it. None if there are only roots."""
    roots = module_trees(trace, times)
    found = (
        HotModule(path, node, True)
        for root in roots
        for path, node in _below("" if len(roots) == 1 else f"{root.name}.", root)
    )
    return max(found, key=lambda each: each.time_ns, default=None)


def _below(above: str, node: Node) -> Iterator[tuple[str, Node]]:
    """The modules in a module, with their paths."""
    for part in node.parts:
        path = f"{above}{part.name}"
        yield path, part
        yield from _below(f"{path}.", part)


def module_trees(trace: Trace, times: ModuleTimes) -> list[Node]:
    """The trees of modules, with repeated modules merged."""
    strings, names = trace.recording[Strings], trace.recording[Modules].name
    depth: list[int] = []
    columns = [column.tolist() for column in times.columns().values()]
    rows = [dict(zip(times.dtypes, row, strict=True)) for row in zip(*columns, strict=True)]
    for value in rows:
        depth.append(0 if value["parent"] < 0 else depth[value["parent"]] + 1)
    parts: dict[int, list[Node]] = {}
    for at, value in reversed([*enumerate(rows)]):
        if depth[at] > DEEPEST:
            continue
        module, kind = value["module"], trace.module_types[value["module"]]
        name = strings[names[module]] or kind if value["parent"] >= 0 else trace.module(module) or ""
        own = tuple(parts.pop(at, [])[::-1])
        node = Node(name, kind, 1, {figure: value[figure] for figure in _FIGURES}, own, (module,))
        parts.setdefault(value["parent"], []).append(node)
    return [replace(root, parts=tuple(_folded(root.parts))) for root in parts.get(-1, [])[::-1]]


def _folded(parts: Sequence[Node]) -> Iterator[Node]:
    """The children of a module; consecutive numbered ones of one class are merged."""
    for (is_number, _), group in groupby(parts, key=lambda part: (part.name.isdecimal(), part.type)):
        run = list(group)
        if is_number and len(run) > 1:
            name = "*" if len(run) == len(parts) else f"{run[0].name}-{run[-1].name}"
            run = [_merged(name, run)]
        for part in run:
            yield _joined(replace(part, parts=tuple(_folded(part.parts))))


def _merged(name: str, alike: Sequence[Node]) -> Node:
    """Several nodes merged into one. Their children of equal name are merged too."""
    if len(alike) == 1:
        return alike[0]
    by_name: dict[str, list[Node]] = {}
    for part in (part for node in alike for part in node.parts):
        by_name.setdefault(part.name, []).append(part)
    kinds = {node.type for node in alike}
    figures = {figure: sum(node.figures[figure] for node in alike) for figure in _FIGURES}
    if alike[0].figures["gpu_self_ns"] < 0:
        figures["gpu_self_ns"] = -1
    return Node(
        name,
        kinds.pop() if len(kinds) == 1 else "",
        sum(node.number for node in alike),
        figures,
        tuple(_merged(part, same) for part, same in by_name.items()),
        tuple(module for node in alike for module in node.modules),
    )


def _joined(node: Node) -> Node:
    """`layers.*` for `layers`, if all its operators run in its only child `*`."""
    if len(node.parts) != 1 or node.figures["calls"] > node.parts[0].figures["calls"]:
        return node
    return replace(node.parts[0], name=f"{node.name}.{node.parts[0].name}")
