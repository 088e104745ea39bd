"""What of a call graph is drawn: checked words, nothing else."""

from __future__ import annotations

import os

from perfprobe.support.errors import UsageError
from perfprobe.support.view import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATTERNS = ("root", "leaf", "focus")
WEIGHTS = ("time", "operator", "calls", "gpu")
PICTURES = (".png", ".svg", ".pdf", ".dot")  # what a drawing's name may end with


class GraphView:
    """Which part of the graph is drawn, and by what it is weighted.

    Args:
        by: one of `WEIGHTS`; None for time where it was sampled, else operator time.
        min_node: nodes with a smaller share, in percent, are left out; None: as many as stay legible.
        min_edge: the same for edges; None: a fifth of `min_node`.
        patterns: regular expressions: "root", only what matching functions call is drawn; "leaf", only what
            leads to matching functions or operators; "focus", only paths through what matches.
        depth: calls from the root that are followed; None for all.
        unfolded: also draw functions of libraries that only pass on.

    Raises:
        UsageError: a weight that does not exist, a number out of range, no regular expression.
    """

    def __init__(
        self,
        by: str | None = None,
        *,
        min_node: float | None = None,
        min_edge: float | None = None,
        patterns: Mapping[str, str] | None = None,
        depth: int | None = None,
        unfolded: bool = False,
    ) -> None:
        if by is not None and by not in WEIGHTS:
            raise UsageError(f"there is no weight {by!r}", "", f"choose from {', '.join(WEIGHTS)}")
        for name, share in (("min-node", min_node), ("min-edge", min_edge)):
            if share is not None and not 0 <= share <= 100:  # nan is refused too
                raise UsageError(f"{name} is {share}", "", "give a percentage from 0 to 100")
        if depth is not None and depth < 1:
            raise UsageError(f"a depth of {depth} shows nothing", "", "give a whole number from 1 up")
        self.by = by
        self.min_node = min_node
        self.min_edge = min_edge
        self.patterns = {name: compiled(text) for name, text in (patterns or {}).items()}
        self.depth = depth
        self.unfolded = unfolded


def picture(path: str) -> str:
    """The path, which must end with one of `PICTURES`. Raises UsageError where it does not."""
    if os.path.splitext(path)[1] not in PICTURES:
        known = f"{', '.join(PICTURES[:-1])} or {PICTURES[-1]}"
        raise UsageError("the file's name does not say which picture", path, f"let it end with {known}")
    return path
