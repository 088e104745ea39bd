"""Links work on GPUs to the API call that started it, and to the operator that made the call.

A record has its call's correlation id. A call belongs to the innermost operator of its thread that contains
the middle of the call, so that clocks may differ a little. With exact linking an external id identifies the
operator by its start; it takes precedence over times. A call outside of operators has the stack of a sample
within it: long calls, which wait for a GPU, contain one; of short calls the stack is unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.merge.backward import ForwardCalls, first_known
from perfprobe.merge.captures import captured
from perfprobe.merge.gpu_calls import Correlations, Launches, starts
from perfprobe.merge.gpu_times import GpuTimes, Launched, times_by_call
from perfprobe.merge.innermost import Innermost
from perfprobe.merge.origins import Origins
from perfprobe.merge.outermost import find_outermost, keys
from perfprobe.tables.columns import Int32, Int64, Rows
from perfprobe.tables.events import Losses, Operators
from perfprobe.tables.gpu import ApiCalls, CallSites, Copies, ExternalIds, GpuLinks, GpuWaits, Kernels
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import NoLine

_OWN_RANGES = "cuda::"  # prefix of the range that the collector sets around a wait, at its line
_KEPT = ("start_ns", "name", "overload", "signature", "stack", "scope", "node_sequence", "node_thread")


class CallsWithin:
    """Finds the operator around each call, while the recording is read for the forward calls."""

    more_columns: tuple[str, ...] = ("end_ns", "overload", "signature")
    losses: tuple[Losses, ...] = ()

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._os_threads = recording.os_threads()
        calls = recording[ApiCalls]
        self._thread = self._os_threads[calls.thread]
        self._time_ns = calls.start_ns + np.maximum(calls.end_ns - calls.start_ns, 0) // 2
        self._named_call, self._named_ns = _named(recording)
        self._operators = _Around(self._thread, self._time_ns, _KEPT)
        self._ranges = _Around(self._thread, self._time_ns, ("name", "stack"))
        self._named = _Around(self._thread[self._named_call], self._named_ns, _KEPT)
        self._first = 0

    def add(self, rows: Operators) -> None:
        """Takes the next batch of operators, in the order of the file."""
        thread = self._os_threads[rows.thread]
        is_range = rows.scope == USER_SCOPE
        operators, ranges = np.flatnonzero(~is_range), np.flatnonzero(is_range)
        self._operators.add(rows, thread, operators, self._first)
        self._named.add(rows, thread, operators, self._first)
        self._ranges.add(rows, thread, ranges, self._first)
        self._first += len(rows)

    def result(self, origins: Origins, forward: ForwardCalls) -> tuple[GpuLinks, GpuTimes]:
        """Returns all links and the time on GPUs of operators. Call this after all operators."""
        disagreements = self._take_named()
        gpu = self._recording
        launched = Launches(self._recording)
        sites = self._sites(origins, forward)
        links = GpuLinks(
            kernel_call=launched.call(gpu[Kernels]),
            copy_call=launched.call(gpu[Copies]),
            wait_call=Correlations(self._recording)(gpu[GpuWaits].correlation),
            sites=sites,
            graph_launch=launched.graph_launch,
            captured=captured(gpu, sites),
            exact=int(np.count_nonzero(self._named.place >= 0)),
            disagreements=disagreements,
        )
        self.losses = launched.losses()
        return links, GpuTimes(self._os_threads, self._launched(links))

    def _take_named(self) -> int:
        """Applies the external ids; returns how often times disagree with them."""
        named = self._named
        named.place[named.columns["start_ns"] != self._named_ns] = -1
        known = np.flatnonzero(named.place >= 0)
        call = self._named_call[known]
        disagreements = int(np.count_nonzero(self._operators.place[call] != named.place[known]))
        self._operators.replace(call, named, known)
        self._time_ns[call] = named.columns["start_ns"][known]
        return disagreements

    def _sites(self, origins: Origins, forward: ForwardCalls) -> CallSites:
        found, calls = self._operators, self._recording[ApiCalls]
        outside = found.place < 0
        own_stack = first_known(calls.stack, self._range_stacks())
        own_stack = first_known(own_stack, seen_stacks(self._recording, calls, self._thread))
        columns = {**found.columns, "stack": np.where(outside, own_stack, found.columns["stack"])}
        rows = Operators.part(columns)
        is_forward = forward.is_forward_stack(rows.stack) & ~outside
        is_forward &= forward.is_forward_outermost(found.outermost) | found.is_cut
        origin = origins.columns(rows, is_forward)
        forward.by_time.label(self._thread, self._time_ns, rows.stack, origin["phase"])
        unseen = outside & (origin["frame"] < 0)
        origin["no_line"] = np.where(unseen, np.int8(NoLine.OUTSIDE_OPERATORS), origin["no_line"])
        same = {name: getattr(rows, name) for name in ("start_ns", "name", "overload", "scope", "stack")}
        return CallSites(**same, **origin)

    def _range_stacks(self) -> Int32:
        """Returns the stack of the collector's range around each call: the call's own stack; -1 if none."""
        ranges = self._ranges.columns
        is_own = starts(self._recording, (_OWN_RANGES,))[ranges["name"]]
        return np.where(is_own, ranges["stack"], np.int32(-1))

    def _launched(self, links: GpuLinks) -> Launched:
        gpu, calls = self._recording, len(self._thread)
        kernels, copies = (gpu[Kernels], links.kernel_call), (gpu[Copies], links.copy_call)
        total_ns, graph_ns = np.zeros(calls, np.int64), np.zeros(calls, np.int64)
        for rows, call in (kernels, copies):
            total_ns += times_by_call(rows, call, calls)
            graph_ns += times_by_call(rows, np.where(rows.graph >= 0, call, -1), calls)
        return Launched(
            thread=self._thread,
            time_ns=self._time_ns,
            place=np.where(self._operators.place >= 0, self._operators.place, self._ranges.place),
            total_ns=total_ns,
            self_ns=np.where(links.graph_launch, 0, total_ns - graph_ns),
        )


class _Around:
    """Finds the innermost row around each point in time, and keeps some of its columns.

    Attributes, with an entry for each point:
        place: position of the row in the recording; -1 if none.
        outermost: key of the outermost operator around it.
        is_cut: whether that key may be wrong.
    """

    def __init__(self, thread: Int64, time_ns: Int64, kept: tuple[str, ...]) -> None:
        self._innermost = Innermost(thread, time_ns)
        self.place = np.full(len(thread), -1, np.int64)
        self.outermost = np.full(len(thread), -1, np.int64)
        self.is_cut = np.zeros(len(thread), np.bool_)
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.full(len(thread), -1, Operators.dtypes[name]) for name in kept
        }

    def add(self, rows: Operators, thread: Int64, chosen: Rows, first: int) -> None:
        """Examines the chosen rows of a batch.

        Args:
            thread: of the batch's rows.
            first: position of the batch's first row in the recording.
        """
        own = (thread[chosen], rows.start_ns[chosen], rows.end_ns[chosen])
        points, around = self._innermost.find(*own)
        if len(points) == 0:
            return
        around = chosen[around]
        self.place[points] = first + around
        for name, column in self.columns.items():
            column[points] = getattr(rows, name)[around]
        outermost, is_cut = find_outermost(rows)
        self.outermost[points] = keys(rows, outermost)[around]
        self.is_cut[points] = is_cut[around]

    def replace(self, points: Rows, other: _Around, others: Rows) -> None:
        """Takes what another object found."""
        self.place[points] = other.place[others]
        self.outermost[points] = other.outermost[others]
        self.is_cut[points] = other.is_cut[others]
        for name, column in self.columns.items():
            column[points] = other.columns[name][others]


def _named(recording: Recording) -> tuple[Rows, Int64]:
    """Returns the calls whose operator has an external id, and when that operator started."""
    named, calls = recording[ExternalIds], recording[ApiCalls]
    correlation, row = np.unique(named.correlation, return_index=True)
    if len(correlation) == 0:
        return np.empty(0, np.intp), np.empty(0, np.int64)
    place = np.minimum(np.searchsorted(correlation, calls.correlation), len(correlation) - 1)
    found = np.flatnonzero((calls.correlation >= 0) & (correlation[place] == calls.correlation))
    return found, named.start_ns[row[place[found]]]


def seen_stacks(recording: Recording, calls: ApiCalls, thread: Int64) -> Int32:
    """Returns the stack of the first sample within each call; -1 if none. thread: OS thread of each call."""
    samples = recording[Samples]
    looks = samples.take((samples.look == Look.READ) & (samples.stack >= 0))
    looks = looks.take(np.argsort(looks.end_ns, kind="stable"))  # a sample is taken at its end
    of_thread = dict(each_thread(recording.os_threads()[looks.thread]))
    found = np.full(len(calls), -1, np.int32)
    for key, rows in each_thread(thread):
        own = of_thread.get(key) if key != -1 else None
        if own is not None:
            time_ns = np.append(looks.end_ns[own], np.iinfo(np.int64).max)
            place = np.searchsorted(time_ns, calls.start_ns[rows])
            within = time_ns[place] <= calls.end_ns[rows]
            found[rows[within]] = looks.stack[own[place[within]]]
    return found
