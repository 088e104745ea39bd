"""The longest path over chains: where it enters and leaves each of them.

Chains are paths already, so only the edges between them are looked at, in the order of time: each is reached
over the best edge into its chain before it. The path may begin and end anywhere, as in
HolisticTraceAnalysis (`networkx.dag_longest_path`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.critical.chains import Chain
from perfprobe.tables.columns import Int64, Rows

_BASE = -1  # instead of an edge: the beginning of the chain


class Edges(NamedTuple):
    """Edges between chains, from node to node of each. owner: whose time the weight is, an event."""

    source: Rows
    source_node: Rows
    target: Rows
    target_node: Rows
    weight_ns: Int64
    owner: Rows


class Path(NamedTuple):
    """Stretches of chains, each from one node to another, and the edges between them."""

    length_ns: int
    stretches: list[tuple[int, int, int]]
    edges: list[int]


class _Reached:
    """The best edge into a chain up to the node that was asked for last; those ahead are pending."""

    def __init__(self) -> None:
        self.offset_ns, self.edge = 0, _BASE
        self._pending: list[tuple[int, int, int]] = []

    def enter(self, node: int, offset_ns: int, edge: int) -> None:
        heappush(self._pending, (node, offset_ns, edge))

    def advance(self, node: int) -> None:
        while self._pending and self._pending[0][0] <= node:
            _, offset_ns, edge = heappop(self._pending)
            if offset_ns > self.offset_ns:
                self.offset_ns, self.edge = offset_ns, edge


def longest_path(chains: list[Chain], edges: Edges) -> Path:
    """The path with most weight."""
    reached = [_Reached() for _ in chains]
    came_over = [_BASE] * len(edges.source)
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
    """From the end to the beginning."""
    stretches, crossed = [], []
    node = len(chains[chain].time_ns) - 1
    while edge != _BASE:
        stretches.append((chain, int(edges.target_node[edge]), node))
        crossed.append(edge)
        chain, node = int(edges.source[edge]), int(edges.source_node[edge])
        edge = came_over[edge]
    stretches.append((chain, 0, node))
    return Path(length_ns, stretches[::-1], crossed[::-1])


def _reached_ns(chains: list[Chain], edges: Edges) -> tuple[list[int], list[int]]:
    """The weights of the chains up to source and target of each edge."""
    first = np.append(0, np.cumsum([len(chain.time_ns) for chain in chains]))
    whole_ns = np.concatenate([chain.reached_ns for chain in chains])
    source_ns = whole_ns[first[edges.source] + edges.source_node]
    return source_ns.tolist(), whole_ns[first[edges.target] + edges.target_node].tolist()


def _order_ns(chains: list[Chain], edges: Edges) -> Int64:
    """When each edge begins; one whose clocks disagree when it ends."""
    first = np.append(0, np.cumsum([len(chain.time_ns) for chain in chains]))
    whole_ns = np.concatenate([chain.time_ns for chain in chains])
    source_ns = whole_ns[first[edges.source] + edges.source_node]
    return np.asarray(np.minimum(source_ns, whole_ns[first[edges.target] + edges.target_node]))
