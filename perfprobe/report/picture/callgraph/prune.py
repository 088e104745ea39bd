"""Selects the part of a call graph that is drawn: by patterns, depth and share, so that it stays legible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gprof2dot import Profile

from perfprobe.report.picture.callgraph.boxes import boxed
from perfprobe.report.picture.callgraph.layout import Page
from perfprobe.report.picture.callgraph.merge import merged
from perfprobe.report.picture.callgraph.nodes import Kind, add_shares
from perfprobe.support import units
from perfprobe.support.errors import UsageError
from perfprobe.support.frozen import frozen
from perfprobe.support.graph_view import GraphView

LEGIBLE = 16  # a picture with this many boxes is easy to read, if they fit a page
_CROWDED = 3 * LEGIBLE  # if more nodes have about the same share, only the heaviest are drawn
_MOST_ROWS = 6  # of a function and phase
MOST = 1000  # more functions and operators would take dot too long
_SHARES = [0.005 * 1.1**step for step in range(45)]  # limits that are tried, as shares of the heaviest node
_MOST_ASKED = 10  # of the nodes that match a pattern; more are drawn if they are heavy
_EDGE_SHARE = 0.2  # an edge is drawn from this part of the smallest drawn node's share on


@frozen
class Pruned:
    """The graph that is left, a box for each function. min_node: the smallest share of nodes that are drawn.

    is_cut: whether some nodes with the smallest share are left out too.
    """

    profile: Profile
    min_node: float
    functions_left_out: int
    operators_left_out: int
    is_cut: bool


def pruned(profile: Profile, whole: int, view: GraphView) -> Pruned:
    """The part of the profile that the view requests, with shares. The profile itself is changed.

    Raises:
        UsageError: a pattern matches nothing, or the view leaves nothing or too much.
    """
    functions, operators = _sizes(profile)
    matched = _restrict(profile, view)
    heaviest = max((node.weighs for node in profile.functions.values()), default=0) / whole
    shares = [view.min_node / 100] if view.min_node is not None else [share * heaviest for share in _SHARES]
    is_cut = view.min_node is None and _heavy(profile, shares[-1] * whole) > _CROWDED
    if is_cut:
        shares = [_cut(profile) / whole]
    if view.min_node is not None:
        matched = set()
    left = _legible(profile, whole, shares, view, matched)
    if not left.profile.functions:
        raise UsageError(f"no node has {view.min_node} % of all", "", "give a smaller --min-node")
    size = sum(1 + len(node.table) for node in left.profile.functions.values())
    if size > MOST:
        what = f"the graph would have {units.count(size)} functions and operators"
        raise UsageError(what, "", "give a larger --min-node, or none")
    functions, operators = functions - left.functions_left_out, operators - left.operators_left_out
    return replace(left, functions_left_out=functions, operators_left_out=operators, is_cut=is_cut)


def _heavy(profile: Profile, least: float) -> int:
    return sum(node.weighs >= least for node in profile.functions.values())


def _cut(profile: Profile) -> int:
    """Keep only the heaviest nodes, of equal ones the outermost. Returns the weight of the lightest."""
    depth = _depths(_callees(profile), _outermost(profile))
    nodes = profile.functions
    first = sorted(nodes, key=lambda number: (-nodes[number].weighs, depth.get(number, len(nodes))))[:LEGIBLE]
    _keep(profile, set(first))
    return int(nodes[first[-1]].weighs)


def _depths(following: dict[int, list[int]], start: list[int]) -> dict[int, int]:
    """The least number of edges from the start to each node that can be reached."""
    found = dict.fromkeys(start, 0)
    order = list(start)
    for last in order:  # grows during the loop
        for number in following[last]:
            if number not in found:
                found[number] = found[last] + 1
                order.append(number)
    return found


def _legible(profile: Profile, whole: int, shares: list[float], view: GraphView, asked: set[int]) -> Pruned:
    """The part with a legible number of boxes. What it says to be left out is what it has.

    asked: nodes that are drawn however small they are, with all that leads to them.
    """
    low, high = 0, len(shares) - 1
    while True:
        middle = (low + high) // 2
        min_node = shares[middle]
        min_edge = min_node * _EDGE_SHARE if view.min_edge is None else view.min_edge / 100
        drawn = merged(profile, whole, min_node, asked, _MOST_ROWS if view.min_node is None else MOST)
        add_shares(drawn, whole, _leading_to(drawn, asked), min_node)
        tops = _outermost(drawn)
        drawn.prune(min_node, min_edge, None, False)
        _drop_stray(drawn, tops, min_node * whole)
        functions, operators = _sizes(drawn)
        boxes = boxed(drawn, whole)
        if low == high:
            return Pruned(boxes, min_node, functions, operators, False)
        is_legible = len(boxes.functions) <= LEGIBLE and not Page(boxes, whole).is_full
        low, high = (low, middle) if is_legible else (middle + 1, high)


def _sizes(profile: Profile) -> tuple[int, int]:
    """Returns how many functions and how many operators the profile stands for."""
    nodes = profile.functions.values()
    return sum(node.is_function for node in nodes), sum(node.rows for node in nodes)


def _leading_to(profile: Profile, asked: set[int]) -> set[int]:
    """The heaviest nodes that were asked for, and their callers."""
    found = sorted(asked & set(profile.functions), key=lambda number: -profile.functions[number].weighs)
    return _reached(_callers(profile), found[:_MOST_ASKED])


def _restrict(profile: Profile, view: GraphView) -> set[int]:
    """Keeps what the patterns and the depth ask for. Returns the nodes that leaf and focus match."""
    tops = _matching(profile, view, "root")
    if tops:
        profile.prune_root(tops)
    leafs = _matching(profile, view, "leaf")
    if leafs:
        profile.prune_leaf(leafs)
    focus = _matching(profile, view, "focus")
    if focus:
        _keep(profile, _reached(_callees(profile), focus) | _reached(_callers(profile), focus))
    if view.depth is not None:
        tops = [number for number in tops or _outermost(profile) if number in profile.functions]
        _keep(profile, _reached(_callees(profile), tops, view.depth))
    return {*leafs, *focus}


def _matching(profile: Profile, view: GraphView, name: str) -> list[int]:
    """The nodes that a pattern of the view matches; none without a pattern.

    Raises:
        UsageError: the pattern matches nothing.
    """
    pattern = view.patterns.get(name)
    if pattern is None:
        return []
    kinds = "function" if name == "root" else "function and no operator"
    found = [
        number
        for number, node in profile.functions.items()
        if (node.is_function or name != "root") and pattern.search(node.search)
    ]
    if not found:
        what = f"--{name} matches no {kinds} of the graph"
        raise UsageError(what, pattern.pattern, "try a shorter pattern, or --by run for what is not in steps")
    return found


def _outermost(profile: Profile) -> list[int]:
    """The nodes that no other one calls."""
    called = {
        callee for caller, callees in _callees(profile).items() for callee in callees if callee != caller
    }
    return [number for number in profile.functions if number not in called] or list(profile.functions)[:1]


def _drop_stray(profile: Profile, tops: list[int], least: float) -> None:
    """Drop functions of libraries with little weight of their own, all of whose callers were dropped."""
    nodes = profile.functions.items()
    heavy = [number for number, node in nodes if node.kind is Kind.USER or node.own >= least]
    starts = [number for number in (*tops, *heavy) if number in profile.functions]
    if starts:
        _keep(profile, _reached(_callees(profile), starts))


def _callees(profile: Profile) -> dict[int, list[int]]:
    return {number: list(node.calls) for number, node in profile.functions.items()}


def _callers(profile: Profile) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, node in profile.functions.items():
        for callee in node.calls:
            found[callee].append(number)
    return found


def _reached(following: dict[int, list[int]], start: Iterable[int], depth: int = -1) -> set[int]:
    """All nodes that can be reached from the start over at most `depth` edges, -1 for any number."""
    found = set(start)
    frontier = list(found)
    while frontier and depth != 0:
        step = {number for last in frontier for number in following.get(last, [])} - found
        found |= step
        frontier = list(step)
        depth -= 1
    return found


def _keep(profile: Profile, kept: set[int]) -> None:
    profile.functions = {number: node for number, node in profile.functions.items() if number in kept}
    for node in profile.functions.values():
        node.calls = {callee: call for callee, call in node.calls.items() if callee in kept}
