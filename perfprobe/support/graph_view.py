"""The options that select a part of a call graph to draw, checked."""

from __future__ import annotations

import os

from perfprobe.support.errors import UsageError
from perfprobe.support.option import COMMAND_LINE, Chosen, declared, option
from perfprobe.support.view import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

WEIGHTS = ("time", "run", "operator", "calls", "gpu")
PICTURES = (".png", ".svg", ".pdf", ".dot")  # endings of a drawing's name


class GraphView(Chosen):
    """The part of the graph to draw, and what its shares refer to.

    `patterns` has the given regular expressions, compiled, by the names of their options.

    Raises:
        UsageError: an unknown weight, a number out of range, or an invalid regular expression.
    """

    places = (COMMAND_LINE,)
    heading = "what to draw"

    by: str | None = option(
        None,
        "what shares refer to: the time of the steps (default; without steps as run), the wall time of the "
        "whole run, its operator time (default without samples), operator calls, or time on GPUs",
        values=WEIGHTS,
        called="weight",
        brief="what shares are of: time, run, operator, calls, gpu",
    )
    min_node: float | None = option(
        None,
        "hide functions and operators below this share (default: chosen to keep the picture legible, and at "
        "most 1,200 pixels wide)",
        kind="percent",
    )
    min_edge: float | None = option(None, "the same for edges (default: a fifth of that)", kind="percent")
    root: str | None = option(
        None,
        "matching functions and what they call are the whole",
        kind="pattern",
        brief=None,
    )
    leaf: str | None = option(
        None,
        "only paths to matching functions or operators",
        kind="pattern",
        brief=None,
    )
    focus: str | None = option(
        None,
        "only paths through matching functions or operators",
        kind="pattern",
        brief=None,
    )
    depth: int | None = option(None, "follow N calls from the root", kind="steps", brief=None)
    unfolded: bool = option(False, "also show library functions that only call others", flag="--library")

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.patterns: dict[str, re.Pattern[str]] = {}
        for one in declared(GraphView):
            value = getattr(self, one.name)
            if one.kind == "pattern" and value is not None:
                self.patterns[one.name] = compiled(value)
            if one.kind == "percent" and value is not None and not 0 <= value <= 100:  # NaN is rejected too
                what = f"{one.flag.removeprefix('--')} is {value}"
                raise UsageError(what, "", "give a percentage from 0 to 100")
        if self.depth is not None and self.depth < 1:
            raise UsageError(f"a depth of {self.depth} shows nothing", "", "give a whole number from 1 up")


def picture(path: str) -> str:
    """Returns the path. Raises UsageError if it does not end with one of `PICTURES`."""
    if os.path.splitext(path)[1] not in PICTURES:
        known = f"{', '.join(PICTURES[:-1])} or {PICTURES[-1]}"
        raise UsageError("unknown picture format", path, f"use a name that ends in {known}")
    return path
