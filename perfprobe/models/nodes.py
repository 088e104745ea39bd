"""The rules by which an operator belongs to a node of autograd's backward graph.

Torch reports a running node as an operator of scope `BACKWARD_FUNCTION`, with the number that the node
got when its forward call made it and with the thread of that call; numbers are each thread's own. What runs
inside of it belongs to it. Autograd's engine has a row around each node, which has no number: what it does
there, once the node has begun, is the node's too. csrc/torch/observer.cpp follows the same rules.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from perfprobe.tables.scopes import BACKWARD_FUNCTION

ENGINE = "autograd::engine::"
_AROUND_A_NODE = f"{ENGINE}evaluate_function"  # followed by the node's name
ACCUMULATE = "torch::autograd::AccumulateGrad"  # adds up a parameter's gradient; no forward call made it
_TORCHSCRIPT = "torch::jit::"
FIRST_MODULE = -2  # numbers from here down stand for AccumulateGrad: the module that holds its parameter
_VIEW_WRITTEN_TO = "torch::autograd::CopySlices"


class Node(NamedTuple):
    """A node of backward. sequence: its number, below 0 none (AccumulateGrad: no forward call made it).

    thread: torch's number of the thread whose forward call made it, 0 not known; -1: not in backward at all.
    """

    sequence: int
    thread: int


NOT_IN_BACKWARD = Node(-1, -1)
NOT_KNOWN = Node(-1, 0)  # in backward, before its node has begun


class Call:
    """An operator, or a range, on its thread. depth: how many are open around it; node: the one it runs in.

    Args:
        sequence: torch's number of it, -1 none.
        forward_thread: torch's number of the thread of its forward call; 0 none, or not known.
    """

    __slots__ = ("depth", "forward_thread", "is_engine", "node", "scope", "sequence")

    def __init__(self, name: str, scope: int, sequence: int, forward_thread: int) -> None:
        self.scope = scope
        self.is_engine = name.startswith(_AROUND_A_NODE)
        self.sequence = -1 if self.is_engine else sequence  # torch.profiler gives the engine its node's
        self.forward_thread = forward_thread
        self.depth = 0
        self.node = NOT_IN_BACKWARD

    @property
    def is_node(self) -> bool:
        """Whether it is a node's own row."""
        return self.scope == BACKWARD_FUNCTION

    def enter(self, parent: Call | None, thread: int) -> None:
        """It begins inside `parent`. Calls of a thread enter in the order in which they start.

        Args:
            thread: torch's number of the thread that both run on.
        """
        self.depth = 0 if parent is None else parent.depth + 1
        if self.is_node:
            if self.sequence < 0 and self.forward_thread <= 0:  # torch.profiler has none of AccumulateGrad
                self.forward_thread = thread
            self.node = Node(self.sequence, max(self.forward_thread, 0))
            if parent is not None and parent.is_engine:
                parent.node = self.node
        elif self.is_engine:
            self.node = NOT_KNOWN
        elif parent is not None:
            self.node = parent.node


class NodeKind(IntEnum):
    """How a node's number leads to the forward call that made it."""

    ONLY_ONE = 1  # of its call, which had this number
    ONE_OF_SEVERAL = 2  # perhaps: its call had this number or a lower one, that of its first node
    OF_SEVERAL_CALLS = 3


def node_kind(name: str) -> NodeKind:
    """The kind of the nodes of this name.

    "::" stands in names of C++ types: nodes of the program's own, which an operator may or may not have made.
    """
    if name.startswith(_TORCHSCRIPT):
        return NodeKind.OF_SEVERAL_CALLS
    is_own = "::" in name and name != _VIEW_WRITTEN_TO
    return NodeKind.ONLY_ONE if is_own else NodeKind.ONE_OF_SEVERAL


def is_python_node(name: str) -> bool:
    """Whether the node of this name is an autograd Function written in Python.

    Those that torch generates end in a number (`MulBackward0`, `ViewBackward0_copy`); others in C++ have "::"
    in the name of their type.
    """
    return "::" not in name and not name.removesuffix("_copy")[-1:].isdigit()
