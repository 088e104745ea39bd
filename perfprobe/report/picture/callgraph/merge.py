"""Merges operators that are too light for rows of their own, so that a function's parts still add up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Set

from gprof2dot import Profile

from perfprobe.report.picture.callgraph.nodes import Kind, Link, Node

_NAMED = 3  # of the operators that share a row, so many are named
_KEYS: tuple[Callable[[Node], object], ...] = (
    lambda node: (node.name, node.signature),  # called from several lines
    lambda node: node.name,  # with several signatures
)


def merged(profile: Profile, whole: int, least: float, asked: Set[int], most: int) -> Profile:
    """A copy in which light operators are merged: those with a share below `least`, and those of a function
    and phase after the first `most`.

    Those of a function and phase with the same name and signature share a row; those that are still too light
    with others of their name; if that is not enough, all of them do, except those that were asked for.
    """
    found = _functions(profile)
    for (caller, _, is_asked), nodes in _operators(profile, asked).items():
        for node in _rows(nodes, 0 if is_asked else least * whole, most):
            found.add_function(node)
            if caller in found.functions:
                found.functions[caller].add_call(Link(node.id, weighs=node.weighs, times=node.times))
    return found


def _functions(profile: Profile) -> Profile:
    """A copy of the functions and their calls."""
    found = Profile()
    for node in profile.functions.values():
        if node.is_function:
            found.add_function(_copy(node))
    for number, node in found.functions.items():
        for callee, call in profile.functions[number].calls.items():
            if callee in found.functions:
                node.add_call(Link(callee, weighs=call.weighs, times=call.times))
    return found


def _operators(profile: Profile, asked: Set[int]) -> dict[tuple[int, Kind, bool], list[Node]]:
    """The operators by caller, kind, and whether asked for."""
    found: dict[tuple[int, Kind, bool], list[Node]] = defaultdict(list)
    for number, node in profile.functions.items():
        if not node.is_function:
            found[node.caller, node.kind, number in asked].append(node)
    return found


def _rows(nodes: list[Node], least: float, most: int) -> list[Node]:
    """The rows for the operators of one function and phase."""
    found, light = _parted([[node] for node in nodes], least)
    for key in _KEYS:
        alike: dict[object, list[Node]] = defaultdict(list)
        for node in light:
            alike[key(node)].append(node)
        heavy, light = _parted([*alike.values()], least)
        found += heavy
    found.sort(key=lambda node: -node.weighs)
    light += [part for node in found[most:] for part in node.table]
    if light and sum(node.weighs for node in light) >= least:
        return [*found[:most], _sum(light)]
    return found[:most]


def _parted(groups: list[list[Node]], least: float) -> tuple[list[Node], list[Node]]:
    """The sums of heavy groups, and the nodes of light ones."""
    found, light = [], []
    for nodes in groups:
        if sum(node.weighs for node in nodes) >= least:
            found.append(_sum(nodes))
        else:
            light += nodes
    return found, light


def _copy(node: Node) -> Node:
    copy = Node(node.id, node.kind, node.name, node.search, weighs=node.weighs, times=node.times)
    copy.place, copy.own, copy.spent = node.place, node.own, node.spent
    return copy


def _sum(nodes: list[Node]) -> Node:
    """One node for all. Its table has the nodes."""
    names = Counter[str]()
    for node in nodes:
        names[node.name] += node.weighs
    first = max(nodes, key=lambda node: node.weighs)
    found = Node(
        nodes[0].id,
        first.kind,
        first.name if len(names) == 1 else _others(names),
        ", ".join(sorted(names)),
        weighs=sum(node.weighs for node in nodes),
        times=-1 if any(node.times < 0 for node in nodes) else sum(node.times for node in nodes),
    )
    found.caller, found.rows, found.table = first.caller, sum(node.rows for node in nodes), nodes
    if len(names) == 1:
        for node in nodes:
            found.lines.update(node.lines)
        signatures = {node.signature for node in nodes}
        found.signature = first.signature if len(signatures) == 1 else f"{len(signatures)} signatures"
        found.verdict = first.verdict if len({node.verdict for node in nodes}) == 1 else ""
    return found


def _others(names: Counter[str]) -> str:
    first = [name for name, _ in names.most_common(_NAMED)]
    more = ", …" if len(names) > len(first) else ""
    return f"{len(names)} others: {', '.join(first)}{more}"
