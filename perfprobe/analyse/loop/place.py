"""Where in the program the loop of a thread's steps is: the function that all of a step is called from.

The stacks of everything in a step begin alike; where they part is the function that holds the loop, at the
lines of its body. A line of it that comes later than another is reached later in a round of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.trace import Trace

NOWHERE = -1
ROOT = -1  # what the outermost frames are called from


class StackTree:
    """Paths in the tree of stacks."""

    def __init__(self, trace: Trace) -> None:
        stacks, frames = trace.recording[Stacks], trace.recording[Frames]
        self._parent = stacks.parent
        self._frame = stacks.frame
        self._line = frames.line
        self._key = (frames.file, frames.function, frames.first_line)
        self._paths: dict[int, tuple[int, ...]] = {}

    def path(self, stack: int) -> tuple[int, ...]:
        """The stacks from the outermost frame to this one."""
        if stack not in self._paths:
            found, at = [], stack
            while at >= 0:
                found.append(at)
                at = int(self._parent[at])
            self._paths[stack] = tuple(reversed(found))
        return self._paths[stack]

    def frame(self, stack: int) -> int:
        """The frame that a stack ends in, -1 for none."""
        return int(self._frame[stack]) if stack >= 0 else NOWHERE

    def line(self, stack: int) -> int:
        """The line that a stack ends in, -1 for none."""
        frame = self.frame(stack)
        return int(self._line[frame]) if frame >= 0 else NOWHERE

    def function(self, stack: int) -> tuple[int, ...]:
        """What tells the function that a stack ends in from others."""
        frame = self.frame(stack)
        return () if frame < 0 else tuple(int(column[frame]) for column in self._key)


class Place:
    """The function that holds a loop. caller: the stack that calls it, `ROOT` where none does."""

    def __init__(self, tree: StackTree, stacks: Iterable[int]) -> None:
        self.tree = tree
        self.caller = _common(tree, stacks)
        self._depth = len(tree.path(self.caller))

    def child(self, stack: int) -> int:
        """The function's own stack on the way to this one, `NOWHERE` for what is not called from it."""
        path = self.tree.path(stack)
        if len(path) <= self._depth or (self._depth and path[self._depth - 1] != self.caller):
            return NOWHERE
        return path[self._depth]

    def line(self, stack: int) -> int:
        """The function's line that is on the way to this stack, `NOWHERE` for what is not called from it."""
        return self.tree.line(self.child(stack))


def _common(tree: StackTree, stacks: Iterable[int]) -> int:
    """The innermost stack that is part of all of these, and the end of none."""
    paths = [tree.path(stack)[:-1] for stack in set(stacks) if stack >= 0]
    if not paths:
        return ROOT
    shortest, longest = min(paths), max(paths)
    shared = ROOT
    for left, right in zip(shortest, longest, strict=False):
        if left != right:
            break
        shared = left
    return shared
