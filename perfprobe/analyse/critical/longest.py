"""The longest path over chains: where it enters and leaves each of them.

A chain is a path already, so only the edges between chains are examined, ordered by time. The longest path to
the source of an edge comes over the best earlier edge into its chain, or from the start of that chain. The
path may begin and end anywhere, as in HolisticTraceAnalysis (`networkx.dag_longest_path`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.critical.chains import Chain
from perfprobe.tables.columns import Int64, Rows

_START = -1  # in place of an edge: the path begins with this chain


class Edges(NamedTuple):
    """Edges between nodes of different chains. owner: the event that has the weight as its time, -1 none."""

    source: Rows
    source_node: Rows
    target: Rows
    target_node: Rows
    weight_ns: Int64
    owner: Rows


class Path(NamedTuple):
    """The path. stretches: (chain, first node, last node) of each part. edges: those between the parts."""

    length_ns: int
    stretches: list[tuple[int, int, int]]
    edges: list[int]


class _Reached:
    """The best edge into a chain at or before the node that was last passed to `advance`.

    offset_ns: by how much the path over that edge is longer than the chain from its start. Edges into later
    nodes are pending.
    """

    def __init__(self) -> None:
        self.offset_ns, self.edge = 0, _START
        self._pending: list[tuple[int, int, int]] = []

    def enter(self, node: int, offset_ns: int, edge: int) -> None:
        heappush(self._pending, (node, offset_ns, edge))

    def advance(self, node: int) -> None:
        while self._pending and self._pending[0][0] <= node:
            _, offset_ns, edge = heappop(self._pending)
            if offset_ns > self.offset_ns:
                self.offset_ns, self.edge = offset_ns, edge


def longest_path(chains: list[Chain], edges: Edges) -> Path:
    """The path with the largest sum of weights. There must be at least one chain."""
    reached = [_Reached() for _ in chains]
    came_over = [_START] * len(edges.source)
    at_source, at_target = _reached_ns(chains, edges)
    columns = (edges.source, edges.source_node, edges.target, edges.target_node, edges.weight_ns)
    order = np.argsort(_order_ns(chains, edges), kind="stable")
    rows = zip(order.tolist(), *(column[order].tolist() for column in columns), strict=True)
    for edge, source, source_node, target, target_node, weight_ns in rows:
        before = reached[source]
        before.advance(source_node)
        came_over[edge] = before.edge
        length_ns = at_source[edge] + before.offset_ns + weight_ns
        reached[target].enter(target_node, length_ns - at_target[edge], edge)
    ends_ns = []
    for chain, each in zip(chains, reached, strict=True):
        each.advance(len(chain.time_ns))
        ends_ns.append(int(chain.reached_ns[-1]) + each.offset_ns)
    last = max(range(len(chains)), key=ends_ns.__getitem__)
    return _back(chains, edges, came_over, last, reached[last].edge, ends_ns[last])


def _back(
    chains: list[Chain], edges: Edges, came_over: list[int], chain: int, edge: int, length_ns: int
) -> Path:
    """Follow the path back from its end."""
    stretches, crossed = [], []
    node = len(chains[chain].time_ns) - 1
    while edge != _START:
        stretches.append((chain, int(edges.target_node[edge]), node))
        crossed.append(edge)
        chain, node = int(edges.source[edge]), int(edges.source_node[edge])
        edge = came_over[edge]
    stretches.append((chain, 0, node))
    return Path(length_ns, stretches[::-1], crossed[::-1])


def _reached_ns(chains: list[Chain], edges: Edges) -> tuple[list[int], list[int]]:
    """For each edge: the chain's weight up to its source, and up to its target."""
    first = np.append(0, np.cumsum([len(chain.time_ns) for chain in chains]))
    whole_ns = np.concatenate([chain.reached_ns for chain in chains])
    source_ns = whole_ns[first[edges.source] + edges.source_node]
    return source_ns.tolist(), whole_ns[first[edges.target] + edges.target_node].tolist()


def _order_ns(chains: list[Chain], edges: Edges) -> Int64:
    """The time of each edge's source, or of its target if clocks disagree and the target is earlier."""
    first = np.append(0, np.cumsum([len(chain.time_ns) for chain in chains]))
    whole_ns = np.concatenate([chain.time_ns for chain in chains])
    source_ns = whole_ns[first[edges.source] + edges.source_node]
    return np.asarray(np.minimum(source_ns, whole_ns[first[edges.target] + edges.target_node]))
