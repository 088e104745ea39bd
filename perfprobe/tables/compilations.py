"""What torch.compile compiled."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.trace import Line


@frozen
class CompiledFunction:
    """A function that was compiled.

    number: how often. time_ns: of all compilations, again_ns: of all but the first, None if not known.
    guard: the last that failed, so that it was compiled again; "" if it was compiled once or dynamo gives
    none.
    """

    line: Line
    number: int
    time_ns: int | None
    again_ns: int | None
    guard: str


@frozen
class Compilations:
    """All such functions, most compilations first. is_cut: dynamo keeps so few that earlier ones are lost."""

    functions: tuple[CompiledFunction, ...]
    is_cut: bool
