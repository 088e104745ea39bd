"""The chains of streams, and the edges from launches to work and from work to what waits for it.

The rules are those of HolisticTraceAnalysis (`CPGraph._construct_graph_from_kernels`):

- Work waits for its launch if nothing else was queued and the work before it had ended when it was
  launched. Otherwise it waits for the work before it on its stream.
- The end of a call that waits for a stream depends on the last work that began there before that end.
- The end of a call that waits for a device depends on the last work of every stream.
- Recordings do not say which event a call waits for. We take the latest work that was launched before the
  wait and had ended by its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.critical.events import AllEvents
from perfprobe.analyse.grouping import first_of_each
from perfprobe.analyse.idle.gaps import Work
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.gpu import ApiCalls, GpuLinks, GpuWaits, WaitKind
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread

MOST_STREAMS = 1024


class Links(NamedTuple):
    """Edges between events: from the begin or end of `source` to the begin or end of `target`."""

    source: Rows
    from_end: Mask
    target: Rows
    to_end: Mask
    weight_ns: Int64


def runs(work: Work, waits_for: Rows, *, as_hta: bool) -> tuple[Rows, Mask]:
    """Divide each stream's work into runs, in which each piece waits for the one before.

    A run begins at the first work of a stream, and at work that waits for its launch or for work of another
    stream.

    Args:
        waits_for: for each piece of work, the one of another stream that it waits for, -1 none.
        as_hta: as in HolisticTraceAnalysis, work does not wait for its launch if more was queued meanwhile.

    Returns:
        The rows of `work` at which runs begin, and a mask of the work that waits for its launch.
    """
    if len(work.row) == 0:
        return np.empty(0, np.intp), np.empty(0, np.bool_)
    key = (work.device.astype(np.int64) << 32) + work.stream
    begins = np.zeros(len(key), np.bool_)
    begins[first_of_each(key)] = True
    before_ns = np.where(begins, np.int64(-1), np.append(np.int64(-1), work.end_ns[:-1]))
    at_launch, at_start = _queued(work, key)
    other_ns = np.where(waits_for >= 0, work.end_ns[waits_for], np.int64(-1))
    launched = (work.call >= 0) & ((at_launch == 1) | (not as_hta)) & ((at_start == 0) | (not as_hta))
    launched &= (before_ns < work.launch_ns) & (other_ns < work.launch_ns)
    cut = begins | launched | (~launched & (other_ns >= before_ns) & (waits_for >= 0))
    return np.flatnonzero(cut), launched


def _queued(work: Work, key: Int64) -> tuple[Int64, Int64]:
    """The length of the stream's queue after each launch, and after its work has begun; -1 if not known."""
    known = np.flatnonzero(work.call >= 0)
    count = len(known)
    time_ns = np.concatenate([work.launch_ns[known], work.start_ns[known]])
    change = np.concatenate([np.ones(count, np.int64), np.full(count, -1)])
    order = np.lexsort((-change, time_ns, np.tile(key[known], 2)))
    length = np.empty(2 * count, np.int64)
    length[order] = np.cumsum(change[order])  # each stream's changes add up to 0
    found = np.full((2, len(key)), -1, np.int64)
    found[0, known], found[1, known] = length[:count], length[count:]
    return found[0], found[1]


def launch_links(all_: AllEvents, work: Work, launched: Mask) -> Links:
    """Edges from the begin of each launch to the begin of its work. launched: which work has one."""
    rows = np.flatnonzero(launched)
    call = all_.call[work.call[rows]]
    rows, call = rows[call >= 0], call[call >= 0]
    weight_ns = np.maximum(work.start_ns[rows] - work.launch_ns[rows], 0)
    no = np.zeros(len(rows), np.bool_)
    return Links(call, no, all_.work[rows], no, weight_ns)


def wait_links(
    recording: Recording, links: GpuLinks, all_: AllEvents, work: Work, *, by_name: bool
) -> tuple[Links, Rows]:
    """Edges from the end of work to the end of calls that wait for it.

    Args:
        by_name: if no waits were recorded, calls named `...Synchronize` count as waits for all streams.

    Returns:
        The edges; and for each piece of work the one of another stream that it waits for, -1 none.
    """
    waits, call = _waits(recording, links, by_name=by_name)
    dependent = np.full(len(work.row), -1, np.intp)
    sources: list[int] = []
    targets: list[int] = []
    streams = _Streams(work)
    for kind, stream, row, end_ns in zip(
        waits.kind.tolist(), waits.stream.tolist(), call.tolist(), waits.end_ns.tolist(), strict=True
    ):
        if row < 0 or all_.call[row] < 0:
            continue
        called_ns = int(recording[ApiCalls].start_ns[row])
        if kind == WaitKind.STREAM_WAIT_EVENT:
            target = streams.next_launched(stream, called_ns)
            if target >= 0:
                dependent[target] = streams.latest_launched(called_ns, int(work.start_ns[target]), stream)
            continue
        if kind == WaitKind.STREAM:
            found = [streams.last_begun(stream, end_ns)]
        elif kind == WaitKind.EVENT:
            found = [streams.latest_launched(called_ns, end_ns)]
        else:
            found = streams.all_begun(end_ns)
        sources += [each for each in found if each >= 0]
        targets += [row] * sum(each >= 0 for each in found)
    yes = np.ones(len(sources), np.bool_)
    own = np.array(sources, np.intp)
    ends = Links(
        all_.work[own], yes, all_.call[np.array(targets, np.intp)], yes, np.zeros(len(own), np.int64)
    )
    return ends, dependent


def _waits(recording: Recording, links: GpuLinks, *, by_name: bool) -> tuple[GpuWaits, Rows]:
    """The recorded waits with the rows of their calls; if there are none, calls named `...Synchronize`."""
    if len(recording[GpuWaits]) or not by_name:
        waits = recording[GpuWaits]
        order = np.argsort(waits.end_ns, kind="stable")
        return waits.take(order), links.wait_call[order].astype(np.intp)
    calls = recording[ApiCalls]
    named = recording[Strings].marks(lambda text: text.endswith("Synchronize"))[calls.name]
    rows = np.flatnonzero(named & (calls.start_ns >= 0) & (calls.end_ns >= calls.start_ns))
    none = np.full(len(rows), -1, np.int32)
    kind = np.full(len(rows), WaitKind.CONTEXT, np.int8)
    times = calls.start_ns[rows], calls.end_ns[rows]
    return GpuWaits(*times, kind, none, none, calls.correlation[rows]), rows


class _Streams:
    """Finds the work of each stream by the time it began and, if its launch is known, by that time.

    At most `MOST_STREAMS` of them, those with most work: a wait for the whole GPU has an edge from each.
    """

    def __init__(self, work: Work) -> None:
        self._end_ns = work.end_ns
        self._begun: dict[int, tuple[Rows, Int64]] = {}
        self._launched: dict[int, tuple[Rows, Int64]] = {}
        busiest = sorted(each_thread(work.stream), key=lambda each: -len(each[1]))[:MOST_STREAMS]
        for stream, rows in sorted(busiest, key=lambda each: each[0]):
            known = rows[work.call[rows] >= 0]
            for found, own, time_ns in (
                (self._begun, rows, work.start_ns),
                (self._launched, known, work.launch_ns),
            ):
                own = own[np.argsort(time_ns[own], kind="stable")]  # noqa: PLW2901 (by time)
                found[stream] = own, time_ns[own]

    def last_begun(self, stream: int, time_ns: int) -> int:
        """The last work of a stream that began by then, -1 none."""
        if stream not in self._begun:
            return -1
        rows, begun_ns = self._begun[stream]
        at = int(np.searchsorted(begun_ns, time_ns, "right")) - 1
        return int(rows[at]) if at >= 0 else -1

    def all_begun(self, time_ns: int) -> list[int]:
        """The last work of each stream that began by then."""
        return [self.last_begun(stream, time_ns) for stream in self._begun]

    def next_launched(self, stream: int, time_ns: int) -> int:
        """The first work launched to a stream at that time or later, -1 none."""
        if stream not in self._launched:
            return -1
        rows, launched_ns = self._launched[stream]
        at = int(np.searchsorted(launched_ns, time_ns))
        return int(rows[at]) if at < len(rows) else -1

    def latest_launched(self, launched_ns: int, ended_ns: int, without: int = -1) -> int:
        """The work another stream waited for, -1 none.

        Of the last work launched to each stream but `without` before `launched_ns`, the one that ended last,
        but not after `ended_ns`.
        """
        found, latest_ns = -1, -1
        for stream, (rows, times_ns) in self._launched.items():
            at = int(np.searchsorted(times_ns, launched_ns)) - 1
            if stream == without or at < 0:
                continue
            end_ns = int(self._end_ns[rows[at]])
            if latest_ns < end_ns <= ended_ns:
                found, latest_ns = int(rows[at]), end_ns
        return found
