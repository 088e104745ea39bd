"""Modes of torch that make it slower, which the program switched on."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.trace import Line


@frozen
class Mode:
    """A mode, and the leading loop's steps in which it was on from beginning to end.

    name: as the screen says it. line: where it was first switched on. time_ns: how long it was on. steps: in
    how many steps of how many (`whole`). slower: how many times as long these took as others, by medians;
    None with fewer than six of either.
    """

    name: str
    line: Line | None
    time_ns: int
    steps: int
    whole: int
    slower: float | None


@frozen
class Modes:
    """All modes that were on, the longest first."""

    found: tuple[Mode, ...]
