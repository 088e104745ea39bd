"""The function of a thread's loop, from which everything in a step is called.

All stacks in a step begin with the same functions, up to the one that contains the loop; there they differ by
the line in the loop's body. A later line is reached later in an iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.trace import Trace

NOWHERE = -1
ROOT = -1  # the caller of the outermost frames


class StackTree:
    """Finds paths, frames, lines and functions in the tree of stacks."""

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
        """The innermost frame of a stack, -1 for none."""
        return int(self._frame[stack]) if stack >= 0 else NOWHERE

    def line(self, stack: int) -> int:
        """The line of the innermost frame of a stack, -1 for none."""
        frame = self.frame(stack)
        return int(self._line[frame]) if frame >= 0 else NOWHERE

    def function(self, stack: int) -> tuple[int, ...]:
        """A key of the innermost function of a stack, empty for no function."""
        frame = self.frame(stack)
        return () if frame < 0 else tuple(int(column[frame]) for column in self._key)


class LoopFunction:
    """The function that contains a loop. caller: the stack that calls it, `ROOT` for none."""

    def __init__(self, tree: StackTree, stacks: Iterable[int]) -> None:
        self.tree = tree
        self.caller = _common(tree, stacks)
        self._depth = len(tree.path(self.caller))
        self._lines: dict[int, int] = {}  # by stack: each is asked for in every step

    def outward(self) -> Iterator[LoopFunction]:
        """Yields this function, its caller, and so on outward."""
        function = self
        yield function
        while function.caller != ROOT:
            path = self.tree.path(function.caller)
            function = LoopFunction(self.tree, ())
            function.caller = path[-2] if len(path) > 1 else ROOT
            function._depth = len(path) - 1
            yield function

    def child(self, stack: int) -> int:
        """The outer part of this stack that ends in the function; `NOWHERE` if the function is not in it."""
        path = self.tree.path(stack)
        if len(path) <= self._depth or (self._depth and path[self._depth - 1] != self.caller):
            return NOWHERE
        return path[self._depth]

    def line(self, stack: int) -> int:
        """The line of the function in this stack; `NOWHERE` if the function is not in it."""
        if stack not in self._lines:
            self._lines[stack] = self.tree.line(self.child(stack))
        return self._lines[stack]


def _common(tree: StackTree, stacks: Iterable[int]) -> int:
    """The innermost stack that is an ancestor of all of these; `ROOT` if there is none."""
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
