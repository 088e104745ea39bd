"""Merges operators that are too light for nodes of their own, so that a function's parts still add up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set

from gprof2dot import Profile

from perfprobe.report.picture.callgraph.nodes import Kind, Link, Node, operator_label


def merged(profile: Profile, whole: int, least: float, asked: Set[int]) -> Profile:
    """A copy in which operators with a share below `least` are merged into one node.

    Those of a function and phase with the same name share a node; if that is still too light, all of them do,
    except those that were asked for.
    """
    found = Profile()
    for node in profile.functions.values():
        if node.is_function or node.weighs >= least * whole:
            found.add_function(_copy(node))
    for number, node in found.functions.items():
        for callee, call in profile.functions[number].calls.items():
            if callee in found.functions:
                node.add_call(Link(callee, weighs=call.weighs, times=call.times))
    for (caller, _, is_asked), nodes in _light(profile, found, asked).items():
        for node in _together(nodes, 0 if is_asked else least * whole):
            _add(found, node, caller)
    return found


def _add(found: Profile, node: Node, caller: int | None) -> None:
    found.add_function(node)
    if caller is not None:
        found.functions[caller].add_call(Link(node.id, weighs=node.weighs, times=node.times))


def _light(
    profile: Profile, found: Profile, asked: Set[int]
) -> dict[tuple[int | None, Kind, bool], list[Node]]:
    """The operators that are not in `found` as they are too light, by caller, kind, and whether asked for."""
    caller_of = {callee: number for number, node in profile.functions.items() for callee in node.calls}
    light: dict[tuple[int | None, Kind, bool], list[Node]] = defaultdict(list)
    for number, node in profile.functions.items():
        if number not in found.functions:
            light[caller_of.get(number), node.kind, number in asked].append(node)
    return light


def _copy(node: Node) -> Node:
    copy = Node(node.id, node.kind, node.name, node.search, weighs=node.weighs, times=node.times)
    copy.operator, copy.rows, copy.own = node.operator, node.rows, node.own
    return copy


def _together(nodes: list[Node], least: float) -> list[Node]:
    """Nodes for the light operators of one function and phase."""
    by_name: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        by_name[node.operator].append(node)
    found, others = [], []
    for name, alike in by_name.items():
        if sum(node.weighs for node in alike) >= least:
            one = _copy(alike[0]) if len(alike) == 1 else _sum(alike, name, f"{len(alike)} signatures")
            found.append(one)
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
        ", ".join(sorted({node.operator for node in nodes})),
        weighs=sum(node.weighs for node in nodes),
        times=-1 if any(node.times < 0 for node in nodes) else sum(node.times for node in nodes),
    )
    node.operator = name
    node.rows = len(nodes)
    return node
