"""Computing and communication of one rank: the pass that watches its operators."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.ranks.messages import Messages
from perfprobe.models.message import OPERATOR, is_collective
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls, Kernels
from perfprobe.tables.python import Samples
from perfprobe.tables.ranks import Collectives, RankParts
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepKind, StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace

_OF_NCCL = re.compile(r"nccl(Dev)?Kernel")
MOST = 1 << 22  # collectives that are kept


class RankWatch:
    """Collects the collectives of a trace, and when it computed."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        strings = trace.recording[Strings]
        self._trace, self._times = trace, times
        self._is_collective = strings.marks(is_collective)
        self._is_nccl = strings.marks(lambda name: _OF_NCCL.match(name) is not None)
        self._ranges: list[tuple[Int64, ...]] = []
        self._computing = np.empty((2, 0), np.int64)
        self._is_message = strings.marks(lambda name: name == OPERATOR)
        self._messages = Messages(trace)
        self._os_thread = trace.recording.os_threads()
        self._self_ns = np.zeros(len(trace.recording[Frames]) + 1)  # by frame + 1

    def add(self, batch: LinkedOperators) -> None:
        """Adds the next batch."""
        found = np.flatnonzero(self._is_collective[batch.name])
        if len(found) and sum(len(part[0]) for part in self._ranges) < MOST:
            columns = (batch.start_ns, batch.end_ns, batch.thread, batch.name, batch.signature)
            self._ranges.append(tuple(column[found].astype(np.int64) for column in columns))
        self._messages.add(batch.take(self._is_message[batch.name]))
        computes = (batch.scope == FUNCTION) & ~self._is_collective[batch.name]
        spans = np.stack([batch.start_ns[computes], batch.end_ns[computes]])
        self._computing = union(np.concatenate([self._computing, spans], axis=1))
        self._add_lines(batch)

    def _add_lines(self, batch: LinkedOperators) -> None:
        """Adds the self time of the operators of the steps' thread, by frame."""
        loops, steps = self._times.loops, self._times.steps
        if len(loops) == 0 or len(steps) == 0:
            return
        own = (batch.start_ns >= steps.start_ns.min()) & (batch.start_ns < steps.end_ns.max())
        own &= self._os_thread[batch.thread] == self._os_thread[loops.thread[0]]
        own &= ~self._is_collective[batch.name]
        frames, self_ns = batch.frame[own], batch.self_ns[own]
        self._self_ns += np.bincount(frames + 1, self_ns, len(self._self_ns))

    def result(self) -> RankParts:
        """Returns the parts of this rank."""
        collectives, on_gpu = self._collectives()
        computing = self._kernels(~self._is_nccl) if on_gpu else self._computing
        communicating = union(np.stack([collectives.start_ns, collectives.end_ns]))
        start_ns, end_ns, steps = self._whole()
        both = [clipped(spans, start_ns, end_ns) for spans in (computing, communicating)]
        lengths = [length(spans) for spans in both]
        together = length(union(np.concatenate(both, axis=1)))
        return RankParts(
            collectives=collectives,
            start_ns=start_ns,
            whole_ns=end_ns - start_ns,
            steps=steps,
            computing_ns=lengths[0],
            communicating_ns=lengths[1],
            overlapped_ns=sum(lengths) - together,
            on_gpu=on_gpu,
            lines=self._lines(communicating, start_ns, end_ns),
        )

    def _whole(self) -> tuple[int, int, int]:
        """Returns start and end of the leading loop's steps, and their number."""
        steps = self._times.steps
        rows = np.flatnonzero((steps.loop == 0) & (steps.kind != StepKind.EVALUATION))
        if len(rows) == 0:
            start_ns, end_ns = self._trace.start_ns or 0, self._trace.end_ns or 0
            return start_ns, max(start_ns, end_ns), 0
        return int(steps.start_ns[rows].min()), int(steps.end_ns[rows].max()), len(rows)

    def _lines(self, communicating: Int64, start_ns: int, end_ns: int) -> dict[Line, int]:
        """Returns the time of the steps' thread by user line, without time in collectives."""
        samples, loops = self._trace.recording[Samples], self._times.loops
        if len(samples) == 0 or len(loops) == 0:
            return self._by_line(self._self_ns)
        os_thread = self._os_thread
        own = np.flatnonzero((os_thread[samples.thread] == os_thread[loops.thread[0]]) & (samples.stack >= 0))
        spans = np.clip(np.stack([samples.start_ns[own], samples.end_ns[own]]), start_ns, end_ns)
        taken_ns = np.diff(spans, axis=0)[0] - np.diff(_covered_ns(communicating, spans), axis=0)[0]
        frames = self._trace.sites.frame[samples.stack[own]]
        return self._by_line(np.bincount(frames + 1, taken_ns, 1).astype(np.float64))

    def _by_line(self, summed: npt.NDArray[np.float64]) -> dict[Line, int]:
        """Returns times by frame + 1 as times by line. A line is named by its first function."""
        places: dict[tuple[str, int], Line] = {}
        found: dict[Line, int] = {}
        for frame in np.flatnonzero(summed[1:] > 0).tolist():
            line = self._trace.line(frame)
            if line is not None:
                line = places.setdefault(line[:2], line)
                found[line] = found.get(line, 0) + round(summed[frame + 1])
        return found

    def _collectives(self) -> tuple[Collectives, bool]:
        """Returns the collectives ordered by start, and whether they are kernels."""
        none = [np.empty(0, np.int64)] * 5
        parts = [np.concatenate(column) for column in zip(*self._ranges, strict=True)] or none
        ranges = [column[np.argsort(parts[0], kind="stable")] for column in parts]
        start_ns, end_ns, _, name, _ = ranges
        signature = self._messages.around(ranges)
        kernels = self._kernels(self._is_nccl)
        is_gpu = kernels.shape[1] > 0
        if is_gpu and self._trace.gpu is not None:
            rows = np.flatnonzero(self._timed(self._is_nccl))
            start_ns, end_ns = kernels
            around = _range_around(self._called_ns(rows), ranges)
            name, signature = (np.append(column, -1)[around] for column in (name, signature))
            order = np.argsort(start_ns, kind="stable")
            start_ns, end_ns, name, signature = (c[order] for c in (start_ns, end_ns, name, signature))
        columns = self._messages.columns(signature)
        return Collectives(start_ns, end_ns, name.astype(np.int32), *columns), is_gpu

    def _timed(self, chosen: Mask) -> Mask:
        kernels = self._trace.recording[Kernels]
        return np.asarray(
            chosen[kernels.name] & (kernels.start_ns >= 0) & (kernels.end_ns >= kernels.start_ns)
        )

    def _kernels(self, chosen: Mask) -> Int64:
        kernels, rows = self._trace.recording[Kernels], self._timed(chosen)
        return np.stack([kernels.start_ns[rows], kernels.end_ns[rows]])

    def _called_ns(self, rows: Int64) -> Int64:
        """Returns when the call that launched each of these kernels began, -1 if not known."""
        calls, links = self._trace.recording[ApiCalls], self._trace.gpu
        call: Int32 = np.full(len(rows), -1, np.int32) if links is None else links.kernel_call[rows]
        return np.append(calls.start_ns, -1)[call]


def union(spans: Int64) -> Int64:
    """Returns the union of these spans: spans in order that do not overlap. Rows: starts, ends, in ns."""
    spans = spans[:, np.argsort(spans[0], kind="stable")]
    if spans.shape[1] == 0:
        return spans
    latest = np.maximum.accumulate(spans[1])
    first = np.flatnonzero(np.append(True, spans[0, 1:] > latest[:-1]))
    return np.stack([spans[0, first], latest[np.append(first[1:] - 1, spans.shape[1] - 1)]])


def clipped(spans: Int64, start_ns: int, end_ns: int) -> Int64:
    """Returns the parts of these spans between two times."""
    inside = np.clip(spans, start_ns, end_ns)
    return inside[:, inside[1] > inside[0]]


def _covered_ns(spans: Int64, at_ns: Int64) -> Int64:
    """Returns how much of a union lies before each of these times."""
    if spans.shape[1] == 0:
        return np.zeros_like(at_ns)
    before = np.append(0, np.cumsum(spans[1] - spans[0]))
    place = np.searchsorted(spans[0], at_ns, side="right") - 1
    inside = np.minimum(at_ns, spans[1][place]) - spans[0][place]
    return np.where(place < 0, 0, before[place] + inside)


def length(spans: Int64) -> int:
    """The sum of their lengths."""
    return int((spans[1] - spans[0]).sum())


def _range_around(called_ns: Int64, ranges: list[Int64]) -> Int64:
    """Returns the range that was open at each of these times, -1 if none was."""
    start_ns, end_ns = ranges[0], np.append(ranges[1], -1)
    place = np.searchsorted(start_ns, called_ns, side="right") - 1
    return np.where((place >= 0) & (called_ns <= end_ns[place]), place, -1)
