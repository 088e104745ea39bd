"""Phases by time, for operators of traces that have no Python stack.

Torch's own ranges show the loader and the optimizer. Forward is the time from the first to the last operator,
between two backward passes, that backward refers to: by the number of its node, as in `backward.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.merge.outermost import find_outermost
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows
from perfprobe.tables.events import Operators
from perfprobe.tables.intervals import around
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION, LOADER_RANGE, OPTIMIZER_RANGE, USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Phase, TimedPhases

# The columns of forward calls; the first two say which node a call made.
_CALL = ("forward_id", "sequence", "start_ns", "thread", "outer_start_ns", "outer_end_ns")


class PhasesByTime:
    """Takes the operators of a recording batch by batch, before phases are asked for."""

    def __init__(self, recording: Recording) -> None:
        self.is_used = recording.is_trace  # all others have stacks
        self._os_threads = recording.os_threads()
        strings = recording[Strings]
        self._prefixes = {
            Phase.DATA: strings.marks(lambda text: text.startswith(LOADER_RANGE)),
            Phase.OPTIMIZER: strings.marks(lambda text: text.startswith(OPTIMIZER_RANGE)),
        }
        self._ranges: list[TimedPhases] = []
        self._calls: list[Int64] = []
        self._nodes: list[Int64] = []
        self._has_stacks = False
        self._found: dict[int, list[TimedPhases]] = {}

    def add(self, rows: Operators, forward_id: Int32) -> None:
        """Takes the next batch, in the order of the file. forward_id: torch's number of each thread."""
        for phase, is_meant in self._prefixes.items():
            own = np.flatnonzero((rows.scope == USER_SCOPE) & is_meant[rows.name])
            self._ranges.append(self._spans(rows.thread[own], rows.start_ns[own], rows.end_ns[own], phase))
        if not self._has_stacks:
            self._add_calls(rows, forward_id)

    def _add_calls(self, rows: Operators, forward_id: Int32) -> None:
        calls = np.flatnonzero((rows.scope == FUNCTION) & (rows.sequence >= 0) & (rows.node_thread < 0))
        self._has_stacks = bool((rows.stack[calls] >= 0).any())
        outermost = find_outermost(rows)[0][calls] if len(calls) else calls
        columns = (forward_id[rows.thread], rows.sequence, rows.start_ns, self._os_threads[rows.thread])
        outer = (rows.start_ns[outermost], rows.end_ns[outermost])
        self._calls.append(_last_of_each(np.stack([*(column[calls] for column in columns), *outer])))
        nodes = np.flatnonzero((rows.scope == BACKWARD_FUNCTION) & (rows.node_sequence >= 0))
        origin = (rows.node_thread, rows.node_sequence, rows.start_ns)
        self._nodes.append(np.stack([column[nodes].astype(np.int64) for column in origin]))

    def finish(self) -> TimedPhases:
        """Returns the stretches by thread and time, those of forward first. Call this after all operators."""
        forward = TimedPhases.empty() if self._has_stacks or not self._calls else self._forward()
        ranges = TimedPhases.concat(self._ranges)
        self._ranges, self._calls, self._nodes = [], [], []
        for rows in (forward, ranges.take(np.argsort(ranges.start_ns, kind="stable"))):
            for thread, own in each_thread(rows.thread):
                self._found.setdefault(thread, []).append(rows.take(own))
        return TimedPhases.concat([rows for found in self._found.values() for rows in found])

    def label(self, thread: Int64, start_ns: Int64, stack: Int32, phase: npt.NDArray[np.integer]) -> None:
        """Sets the phases of rows without stack that have none. thread: the system's number of each."""
        plain = (stack < 0) & (phase == Phase.OTHER)
        if not self._found or not bool(plain.any()):
            return
        for each, rows in _each(np.flatnonzero(plain), thread):
            for spans in self._found.get(each, ()):
                at = around(spans.start_ns, spans.end_ns, start_ns[rows])
                phase[rows] = np.where(at >= 0, spans.phase[at], phase[rows])

    def label_operators(self, rows: Operators, phase: Int8) -> None:
        """As `label`, for operators."""
        if self._found:
            self.label(self._os_threads[rows.thread], rows.start_ns, rows.stack, phase)

    def _spans(self, thread: Int32, start_ns: Int64, end_ns: Int64, phase: Phase) -> TimedPhases:
        return TimedPhases(self._os_threads[thread], start_ns, end_ns, np.full(len(thread), phase, np.int8))

    def _forward(self) -> TimedPhases:
        nodes = np.concatenate(self._nodes, axis=1)
        calls = _last_of_each(np.concatenate(self._calls, axis=1))
        calls = calls[:, _are_among(calls, nodes)]
        thread, start_ns, end_ns = calls[_CALL.index("thread") :]
        passes = np.searchsorted(np.sort(nodes[2]), start_ns)  # calls between two nodes are of one pass
        order = np.lexsort((start_ns, passes, thread))
        thread, start_ns, end_ns, passes = (each[order] for each in (thread, start_ns, end_ns, passes))
        if len(order) == 0:
            return TimedPhases.empty()
        first = np.flatnonzero(np.append(True, (passes[1:] != passes[:-1]) | (thread[1:] != thread[:-1])))
        return TimedPhases(
            thread=thread[first],
            start_ns=start_ns[first],
            end_ns=np.maximum.reduceat(end_ns, first),
            phase=np.full(len(first), Phase.FORWARD, np.int8),
        )


def _last_of_each(calls: Int64) -> Int64:
    """Returns, of the calls with one number, the last to start: it made the node. calls: rows are `_CALL`."""
    order = np.lexsort((calls[2], calls[1], calls[0]))
    calls = calls[:, order]
    differs = (calls[:2, 1:] != calls[:2, :-1]).any(axis=0)
    return calls[:, np.append(differs, True)[: calls.shape[1]]]


def _are_among(calls: Int64, nodes: Int64) -> Mask:
    """Returns a mask of the calls that have the number of a node."""
    both = np.concatenate([calls[:2], nodes[:2]], axis=1)
    _, number = np.unique(both, axis=1, return_inverse=True)
    return np.isin(number.reshape(-1)[: calls.shape[1]], number.reshape(-1)[calls.shape[1] :])


def _each(rows: Rows, thread: Int64) -> list[tuple[int, Rows]]:
    """Returns each thread with those of the rows that are its."""
    return [(each, rows[own]) for each, own in each_thread(thread[rows])]
