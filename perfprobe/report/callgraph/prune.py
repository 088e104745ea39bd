"""Which part of a call graph is drawn: by patterns, by depth, and by share, so that it stays legible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gprof2dot import TOTAL_TIME_RATIO, Profile

from perfprobe.report.callgraph.nodes import Kind, Link, Node, add_figures, operator_label
from perfprobe.support import units
from perfprobe.support.errors import UsageError
from perfprobe.support.graph_view import GraphView

LEGIBLE = 36  # nodes that can be taken in at a glance
MOST = 1000  # nodes that dot can lay out in a sensible time
_SHARES = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30)  # of the heaviest node, in percent, to be tried
_EDGE_SHARE = 0.2  # of the share from which nodes are drawn


@dataclass(frozen=True)
class Pruned:
    """What is left. min_node, min_edge: shares that nodes and edges at least have."""

    profile: Profile
    min_node: float
    min_edge: float
    functions_left_out: int
    operators_left_out: int


def pruned(profile: Profile, whole: int, view: GraphView) -> Pruned:
    """The part of the profile that the view asks for; the profile itself is used up.

    Raises UsageError where a pattern matches nothing, or the view leaves nothing or too much.
    """
    functions, operators = _sizes(profile)
    _restrict(profile, view)
    heaviest = max((node.weighs for node in profile.functions.values()), default=0) / whole
    shares = [view.min_node / 100] if view.min_node is not None else [s / 100 * heaviest for s in _SHARES]
    for min_node in shares:
        min_edge = min_node * _EDGE_SHARE if view.min_edge is None else view.min_edge / 100
        drawn = _merged(profile, whole, min_node)
        add_figures(drawn, whole)
        drawn.prune(min_node, min_edge, None, False)
        if len(drawn.functions) <= LEGIBLE:
            break
    _check(drawn, view)
    shown_functions, shown_operators = _sizes(drawn)
    return Pruned(drawn, min_node, min_edge, functions - shown_functions, operators - shown_operators)


def _sizes(profile: Profile) -> tuple[int, int]:
    """How many functions and how many operators it stands for."""
    nodes = profile.functions.values()
    return sum(node.is_function for node in nodes), sum(node.rows for node in nodes)


def _check(drawn: Profile, view: GraphView) -> None:
    if not drawn.functions:
        raise UsageError(f"no node has {view.min_node} % of all", "", "give a smaller --min-node")
    if len(drawn.functions) > MOST:
        count = units.count(len(drawn.functions))
        raise UsageError(f"the graph would have {count} nodes", "", "give a larger --min-node")


def _restrict(profile: Profile, view: GraphView) -> None:
    """Leaves what the patterns and the depth ask for."""
    matches = {
        name: [number for number, node in profile.functions.items() if pattern.search(node.search)]
        for name, pattern in view.patterns.items()
    }
    for name, numbers in matches.items():
        if not numbers:
            pattern = view.patterns[name].pattern
            raise UsageError(
                f"--{name} matches no function and no operator", pattern, "try a shorter pattern"
            )
    if "root" in matches:
        profile.prune_root(matches["root"])
    for name in ("leaf", "focus"):
        present = [number for number in matches.get(name, []) if number in profile.functions]
        if name in matches and not present:
            pattern = view.patterns[name].pattern
            raise UsageError(f"--{name} matches nothing that is left of the graph", pattern, "leave one out")
        if name == "leaf" and present:
            profile.prune_leaf(present)
        elif present:
            _keep(profile, _reached(_callees(profile), present) | _reached(_callers(profile), present))
    if view.depth is not None:
        called = {
            callee for number, node in profile.functions.items() for callee in node.calls if callee != number
        }
        tops = matches.get("root") or [number for number in profile.functions if number not in called]
        tops = [number for number in tops if number in profile.functions] or list(profile.functions)[:1]
        _keep(profile, _reached(_callees(profile), tops, view.depth))


def _callees(profile: Profile) -> dict[int, list[int]]:
    return {number: list(node.calls) for number, node in profile.functions.items()}


def _callers(profile: Profile) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, node in profile.functions.items():
        for callee in node.calls:
            found[callee].append(number)
    return found


def _reached(following: dict[int, list[int]], start: Iterable[int], depth: int = -1) -> set[int]:
    """All that is reached from the start in so many steps, -1 for any number."""
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


def _merged(profile: Profile, whole: int, least: float) -> Profile:
    """A copy in which operators too light for a node of their own share one with others below their function:

    with those of the same name, and where these are too light together, with all others.
    """
    caller_of = {
        callee: number
        for number, node in profile.functions.items()
        for callee in node.calls
        if not profile.functions[callee].is_function
    }
    found = Profile()
    light: dict[tuple[int, Kind], list[Node]] = defaultdict(list)
    for number, node in profile.functions.items():
        if node.is_function or node.weighs >= least * whole:
            found.add_function(_copy(node))
        else:
            light[caller_of.get(number, -1), node.kind].append(node)
    for number, node in profile.functions.items():
        for callee, call in node.calls.items():
            if number in found.functions and callee in found.functions:
                found.functions[number].add_call(Link(callee, weighs=call.weighs, times=call.times))
    for (caller, _), nodes in light.items():
        for node in _together(nodes, least * whole):
            found.add_function(node)
            if caller >= 0:
                found.functions[caller].add_call(Link(node.id, weighs=node.weighs, times=node.times))
    return found


def _copy(node: Node) -> Node:
    copy = Node(node.id, node.kind, node.name, node.search, weighs=node.weighs, times=node.times)
    copy.operator, copy.rows, copy.own, copy.filename = node.operator, node.rows, node.own, node.filename
    return copy


def _together(nodes: list[Node], least: float) -> list[Node]:
    """Nodes for operators of one function and phase that are light each."""
    by_name: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        by_name[node.operator].append(node)
    found, others = [], []
    for name, alike in by_name.items():
        if sum(node.weighs for node in alike) >= least:
            found.append(_sum(alike, name, f"{len(alike)} signatures"))
        else:
            others += alike
    if sum(node.weighs for node in others) >= least and others:
        names = len({node.operator for node in others})
        found.append(_sum(others, f"{names} other operators", ""))
    return found


def _sum(nodes: list[Node], name: str, about: str) -> Node:
    kind = nodes[0].kind
    node = Node(
        nodes[0].id,
        kind,
        operator_label(name, kind, about),
        name,
        weighs=sum(node.weighs for node in nodes),
        times=-1 if any(node.times < 0 for node in nodes) else sum(node.times for node in nodes),
    )
    node.operator = name
    node.rows = len(nodes)
    return node
