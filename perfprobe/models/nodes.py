"""The rules that assign an operator to a node of autograd's backward graph.

Torch reports a running node as an operator of scope `BACKWARD_FUNCTION`, with the number that the node got
when its forward call made it, and the thread of that call. Each thread has its own numbers. What runs inside
the node belongs to it. Autograd's engine has a row without a number around each node. What the engine does
there after the node began belongs to the node too. csrc/torch/observer.cpp follows the same rules.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from perfprobe.tables.scopes import BACKWARD_FUNCTION

ENGINE = "autograd::engine::"
_AROUND_A_NODE = f"{ENGINE}evaluate_function"  # followed by the node's name
ACCUMULATE = "torch::autograd::AccumulateGrad"  # adds to a parameter's gradient; no forward call made it
_TORCHSCRIPT = "torch::jit::"
FIRST_MODULE = -2  # sequences from here down: AccumulateGrad of the module with that number
_VIEW_WRITTEN_TO = "torch::autograd::CopySlices"


class Node(NamedTuple):
    """A node of backward.

    Attributes:
        sequence: its number; negative for AccumulateGrad, which no forward call made.
        thread: torch's number of the thread whose forward call made it; 0 if not known, -1 if not in
            backward.
    """

    sequence: int
    thread: int


NOT_IN_BACKWARD = Node(-1, -1)
NOT_KNOWN = Node(-1, 0)  # in backward, before its node has begun


class Call:
    """An operator or a range on its thread.

    Args:
        sequence: torch's number for it, -1 if none.
        forward_thread: torch's number of its forward call's thread; 0 if none or not known.

    Attributes:
        depth: the number of open calls around it.
        node: the node it runs in.
    """

    __slots__ = ("depth", "forward_thread", "is_engine", "node", "scope", "sequence")

    def __init__(self, name: str, scope: int, sequence: int, forward_thread: int) -> None:
        self.scope = scope
        self.is_engine = name.startswith(_AROUND_A_NODE)
        self.sequence = -1 if self.is_engine else sequence  # torch.profiler sets the node's number
        self.forward_thread = forward_thread
        self.depth = 0
        self.node = NOT_IN_BACKWARD

    @property
    def is_node(self) -> bool:
        """Whether this is the row of a node."""
        return self.scope == BACKWARD_FUNCTION

    def enter(self, parent: Call | None, thread: int) -> None:
        """Starts the call inside `parent`. Calls of a thread must enter in the order of their starts.

        Args:
            thread: torch's number of the thread that both run on.
        """
        self.depth = 0 if parent is None else parent.depth + 1
        if self.is_node:
            if self.sequence < 0 and self.forward_thread <= 0:  # AccumulateGrad of torch.profiler
                self.forward_thread = thread
            self.node = Node(self.sequence, max(self.forward_thread, 0))
            if parent is not None and parent.is_engine:
                parent.node = self.node
        elif self.is_engine:
            self.node = NOT_KNOWN
        elif parent is not None:
            self.node = parent.node


class NodeKind(IntEnum):
    """How the number of a node leads to the forward call that made it."""

    ONLY_ONE = 1  # the only node of its call, which had this number
    ONE_OF_SEVERAL = 2  # perhaps: its call has this number or a lower one, that of its first node
    OF_SEVERAL_CALLS = 3


def node_kind(name: str) -> NodeKind:
    """Returns the kind of the nodes with this name.

    A name with "::" is a C++ type of the program or a library. An operator may or may not have made such
    nodes.
    """
    if name.startswith(_TORCHSCRIPT):
        return NodeKind.OF_SEVERAL_CALLS
    is_own = "::" in name and name != _VIEW_WRITTEN_TO
    return NodeKind.ONLY_ONE if is_own else NodeKind.ONE_OF_SEVERAL


def is_python_node(name: str) -> bool:
    """Whether the node with this name is an autograd Function written in Python.

    Names that torch generates end in a number (`MulBackward0`, `ViewBackward0_copy`). Other C++ nodes have
    "::" in the name of their type.
    """
    return "::" not in name and not name.removesuffix("_copy")[-1:].isdigit()
