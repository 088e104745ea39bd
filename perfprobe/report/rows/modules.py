"""Rows of modules: one by one, and as a tree in which repeated ones are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count

from perfprobe.models.module_tree import Node, module_trees
from perfprobe.report.rows.row import inline, measured, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine
from perfprobe.tables.findings import Findings, HotModules, Hotspots, ModuleTimes

FIGURES = ModuleTimes.combined(Combine.SUM)


@frozen(kw_only=True)
class ModuleRow:
    """A module. parent: the path of the module that contains it, None for a root; type: its class."""

    module: str | None
    parent: str | None
    type: str
    figures: Mapping[str, int | None] = inline()
    share: float


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
            figures={name: measured(value[name]) for name in FIGURES},
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
