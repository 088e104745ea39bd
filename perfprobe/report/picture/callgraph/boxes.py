"""Makes boxes of a pruned profile: operators are rows in their function's box, a chain of callers is one."""

from __future__ import annotations

from collections import Counter

from gprof2dot import Profile

from perfprobe.report.picture.callgraph.nodes import Kind, Node

_OF_NOTE = 0.02  # a function with less of its own only passes calls on


def boxed(profile: Profile, whole: int) -> Profile:
    """The profile without nodes for operators, which are in the tables of their functions."""
    nodes = profile.functions
    operators = sorted((node for node in nodes.values() if not node.is_function), key=_by_weight)
    for node in nodes.values():
        node.calls = {callee: call for callee, call in node.calls.items() if nodes[callee].is_function}
        node.table = []
    alone = Node(1 + max(nodes, default=0), Kind.UNPLACED, "no Python function known", "", weighs=0, times=-1)
    for node in operators:
        if node.caller < 0 or node.caller in nodes:
            nodes.get(node.caller, alone).table.append(node)
    alone.weighs = sum(node.weighs for node in alone.table)
    found = Profile()
    for node in [node for node in nodes.values() if node.is_function] + [alone] * bool(alone.table):
        found.add_function(node)
    _join_chains(found, _OF_NOTE * whole)
    return found


def _by_weight(node: Node) -> tuple[bool, int]:
    return not node.signature and node.rows > 1, -node.weighs  # others are last


def _join_chains(profile: Profile, least: float) -> None:
    """Join each function that only calls one other one with it, if nobody else calls that one."""
    callers = Counter(callee for node in profile.functions.values() for callee in node.calls)
    for number in list(profile.functions):
        node = profile.functions.get(number)
        while node is not None and (below := _only_callee(profile, node, least)) is not None:
            if callers[below.id] > 1 or below is node or below.kind is not node.kind:
                break
            _join(profile, node, below)


def _only_callee(profile: Profile, node: Node, least: float) -> Node | None:
    """What the function calls, if it does nothing else."""
    if len(node.calls) != 1 or node.table or node.own >= least:
        return None
    below: Node = profile.functions[next(iter(node.calls))]
    # Callers that are not drawn may have made it heavier.
    return below if abs(node.weighs - below.weighs) < least else None


def _join(profile: Profile, node: Node, below: Node) -> None:
    """The outer node gets the place of the inner one, and all that is in its box."""
    del profile.functions[below.id]
    node.chain = [*node.chain, node.name, *below.chain]
    node.name, node.place, node.times, node.table = below.name, below.place, below.times, below.table
    node.calls = below.calls
    node.own += below.own
    node.spent += below.spent
