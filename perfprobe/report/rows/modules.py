"""Rows of modules: one by one, and as a tree in which repeated ones are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import count, groupby

from perfprobe.report.rows.row import inline, measured, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine
from perfprobe.tables.findings import Findings, HotModules, Hotspots, ModuleTimes
from perfprobe.tables.stacks import Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

DEEPEST = 64  # levels of the tree that are shown
_FIGURES = ModuleTimes.combined(Combine.SUM)


@frozen(kw_only=True)
class ModuleRow:
    """A module. parent: the path of the module that contains it, None for a root; type: its class."""

    module: str | None
    parent: str | None
    type: str
    figures: Mapping[str, int | None] = inline()
    share: float


@frozen
class Node:
    """A module, or several similar ones, in a tree.

    name: its name in its parent, `layers.*` for several. type: its class. number: how many modules it stands
    for. figures: their sums, as in `ModuleTimes`.
    """

    name: str
    type: str
    number: int
    figures: Mapping[str, int]
    parts: tuple[Node, ...] = ()

    @property
    def total_ns(self) -> int:
        """The time by which the tree is ranked."""
        return self.figures["total_ns"]


@frozen
class TreeRow:
    """A shown node. depth: its level among shown nodes. repeats: whether to show how many modules it is."""

    node: Node
    depth: int
    repeats: bool
    share: float


def module_rows(findings: Findings) -> list[ModuleRow]:
    """All modules, each before those it contains."""
    trace, times = findings.trace, findings[HotModules].modules
    whole_ns = max(findings[Hotspots].totals.self_ns, 1)
    paths = [trace.module(module) for module in times.module.tolist()]
    return [
        ModuleRow(
            module=path,
            parent=paths[value["parent"]] if value["parent"] >= 0 else None,
            type=trace.module_types[value["module"]],
            figures={name: measured(value[name]) for name in _FIGURES},
            share=value["total_ns"] / whole_ns,
        )
        for path, value in zip(paths, values(times), strict=True)
    ]


def tree_rows(findings: Findings, most: int, least: float) -> list[TreeRow]:
    """The nodes with most time, each with its parents, in the order of the model.

    Args:
        most: how many, 0 for all.
        least: the share of operator time below which a node is left out, unless all are asked for.
    """
    whole_ns = max(findings[Hotspots].totals.self_ns, 1)
    roots = module_trees(findings.trace, findings[HotModules].modules)
    chosen = _chosen(roots, most, least * whole_ns) if most else None
    return list(_in_order(roots, None, chosen, whole_ns))


def module_trees(trace: Trace, times: ModuleTimes) -> list[Node]:
    """The trees of modules, with repeated modules merged."""
    strings, names = trace.recording[Strings], trace.recording[Modules].name
    depth: list[int] = []
    for value in values(times):
        depth.append(0 if value["parent"] < 0 else depth[value["parent"]] + 1)
    parts: dict[int, list[Node]] = {}
    for at, value in reversed([*enumerate(values(times))]):
        if depth[at] > DEEPEST:
            continue
        module, kind = value["module"], trace.module_types[value["module"]]
        name = strings[names[module]] or kind if value["parent"] >= 0 else trace.module(module) or ""
        own = tuple(parts.pop(at, [])[::-1])
        node = Node(name, kind, 1, {figure: value[figure] for figure in _FIGURES}, own)
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
    )


def _joined(node: Node) -> Node:
    """`layers.*` for `layers`, if all its operators run in its only child `*`."""
    if len(node.parts) != 1 or node.figures["calls"] > node.parts[0].figures["calls"]:
        return node
    return replace(node.parts[0], name=f"{node.name}.{node.parts[0].name}")


def _chosen(roots: Sequence[Node], most: int, least_ns: float) -> set[int]:
    """The ids of the nodes with most time; no node without its parent."""
    number = count()
    open_nodes = [(-node.total_ns, next(number), node) for node in roots]
    heapify(open_nodes)
    found: set[int] = set()
    while open_nodes and len(found) < most:
        _, _, node = heappop(open_nodes)
        if node.total_ns < least_ns and found:
            break
        found.add(id(node))
        for part in node.parts:
            heappush(open_nodes, (-part.total_ns, next(number), part))
    return found


def _in_order(
    nodes: Sequence[Node], around: TreeRow | None, chosen: set[int] | None, whole_ns: int
) -> Iterator[TreeRow]:
    for node in nodes:
        if chosen is None or id(node) in chosen:
            depth, number = (0, 1) if around is None else (around.depth + 1, around.node.number)
            row = TreeRow(node, depth, node.number != number, node.total_ns / whole_ns)
            yield row
            yield from _in_order(node.parts, row, chosen, whole_ns)
