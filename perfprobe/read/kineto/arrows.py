"""Arrows from forward to backward: what a trace without sequence numbers has to tie the two.

Kineto draws one from the start of the innermost operator that made a node of autograd's graph to the start of
the node's own row (torch/csrc/profiler/collection.cpp). Traces of torch 1.9 to 1.11 call them
`forward_backward`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfprobe.models.nodes import ENGINE
from perfprobe.read.kineto.event import NONE, Events
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.nesting import Taken
from perfprobe.tables.scopes import FUNCTION

FORWARD_TO_BACKWARD = ("fwdbwd", "forward_backward")
_MOST = 1 << 22
_Moment = tuple[int, int]  # a thread's row, and when


class Arrows:
    """Takes in both ends of arrows as they come. used: how many tied two operators."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._begin: dict[Any, _Moment] = {}
        self._end: dict[Any, _Moment] = {}
        self._rows: dict[tuple[_Moment, bool], int | None] = {}  # many arrows may begin at one time
        self.used = 0

    def add(self, events: Events, *, are_ends: bool) -> None:
        """Takes in where arrows begin, or end; those without a time, a thread or a number are left out."""
        found = self._end if are_ends else self._begin
        at_ns, thread = events.times("ts"), events.each("tid", self._names.thread)
        usable = (at_ns != NONE) & (thread >= 0)
        columns = (events.codes("id"), thread, at_ns)
        for code, row, begun_ns in zip(*(column[usable].tolist() for column in columns), strict=True):
            key = events.value(code)
            if (type(key) is int or isinstance(key, str)) and len(found) < _MOST:
                found[key] = row, begun_ns

    def number(self, threads: Mapping[int, Taken]) -> None:
        """Gives operators that an arrow ties one sequence number, and backward's the thread of forward's.

        Changes the columns of `threads`. The numbers are ours, torch's are not known.
        """
        for at, (key, begin) in enumerate(self._begin.items()):
            end = self._end.get(key)
            forward = self._known_row(threads, begin)
            backward = None if end is None else self._known_row(threads, end, is_node=True)
            if forward is None or backward is None or end is None:
                continue
            called, node = threads[begin[0]], threads[end[0]]
            if called.sequence[forward] < 0:
                called.sequence[forward] = at
            node.sequence[backward] = called.sequence[forward]
            node.forward_thread[backward] = begin[0] + 1
            self.used += 1

    def _known_row(
        self, threads: Mapping[int, Taken], moment: _Moment, *, is_node: bool = False
    ) -> int | None:
        key = moment, is_node
        if key not in self._rows:
            self._rows[key] = self._row(threads, moment, is_node=is_node)
        return self._rows[key]

    def _row(self, threads: Mapping[int, Taken], moment: _Moment, *, is_node: bool = False) -> int | None:
        """The innermost operator that began there; of a node, the one directly within the engine's row."""
        taken = threads.get(moment[0])
        if taken is None:
            return None
        first, end = (int(np.searchsorted(taken.start_ns, moment[1], side)) for side in ("left", "right"))
        rows = range(first, end)
        operators = (row for row in (rows if is_node else reversed(rows)) if taken.scope[row] == FUNCTION)
        return next((row for row in operators if not is_node or not self._is_engines(taken, row)), None)

    def _is_engines(self, taken: Taken, row: int) -> bool:
        return self._names.name(int(taken.name[row])).startswith(ENGINE)
