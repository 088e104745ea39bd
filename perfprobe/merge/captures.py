"""Finds the calls that were captured as the work of CUDA graphs.

While a stream is captured, launches start nothing; they run at each launch of the graph. If that runs a
graph's work one after another, always in the order of the nodes' numbers, it was captured in this order: the
first kernel is the capture's first launch. Where another order is possible nothing is said, nor where several
captures fit that differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.merge.gpu_calls import is_of_driver, starts
from perfprobe.models.device_calls import BEGIN_CAPTURE, COPY, END_CAPTURE, LAUNCH
from perfprobe.tables.columns import Int64, Mask, Rows, distinct
from perfprobe.tables.gpu import ApiCalls, CallSites, Captured, Copies, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_ALIKE = ("name", "overload", "frame", "forward_frame", "phase")  # what several captures must share


class _Capture(NamedTuple):
    """Rows of `api_calls` that were captured, in order: launches of kernels, and copies."""

    end_ns: int
    kernels: Rows
    copies: Rows


class _Graph(NamedTuple):
    """Rows of kernels and of copies in the order of each launch, one line for each launch."""

    first_ns: int
    kernels: Rows
    copies: Rows


def captured(recording: Recording, sites: CallSites) -> Captured:
    """For each kernel and copy of a graph the call that was captured as it, where that is certain."""
    kernels, copies = recording[Kernels], recording[Copies]
    found = Captured.none(len(kernels), len(copies))
    if not (bool((kernels.graph >= 0).any()) or bool((copies.graph >= 0).any())):
        return found
    captures = list(_captures(recording))
    for graph in _graphs(kernels, copies) if captures else ():
        fitting = [each for each in captures if _fits(each, graph)]
        if not fitting or not all(_is_alike(sites, fitting[0], each) for each in fitting[1:]):
            continue
        for calls, several, own, rows in (
            (found.kernels, found.several_kernels, fitting[0].kernels, graph.kernels),
            (found.copies, found.several_copies, fitting[0].copies, graph.copies),
        ):
            calls[rows] = own
            several[rows] = len(fitting) > 1
    return found


def _fits(capture: _Capture, graph: _Graph) -> bool:
    sizes = graph.kernels.shape[1], graph.copies.shape[1]
    return capture.end_ns <= graph.first_ns and sizes == (len(capture.kernels), len(capture.copies))


def _is_alike(sites: CallSites, first: _Capture, other: _Capture) -> bool:
    """Whether these captures differ in inputs and modules only."""
    pairs = ((first.kernels, other.kernels), (first.copies, other.copies))
    columns = [getattr(sites, name) for name in _ALIKE]
    return all(np.array_equal(column[own], column[others]) for column in columns for own, others in pairs)


def _captures(recording: Recording) -> Iterator[_Capture]:
    """The captures of all threads that no other one overlaps. Backward has launches on another thread."""
    calls = recording[ApiCalls]
    begins, ends, launches, copies = (
        starts(recording, names)[calls.name] for names in (BEGIN_CAPTURE, END_CAPTURE, LAUNCH, COPY)
    )
    spans = sorted(_spans(calls, begins, ends))
    idle = ~np.isin(
        calls.correlation, np.append(recording[Kernels].correlation, recording[Copies].correlation)
    )
    begun_ns = calls.start_ns
    for at, (first_ns, last_ns) in enumerate(spans):
        around = spans[max(at - 1, 0) : at] + spans[at + 1 : at + 2]
        if any(other[0] < last_ns and first_ns < other[1] for other in around):
            continue
        inside = idle & (begun_ns >= first_ns) & (begun_ns < last_ns)
        yield _Capture(last_ns, *(_in_order(recording, inside & each) for each in (launches, copies)))


def _spans(calls: ApiCalls, begins: Mask, ends: Mask) -> Iterator[tuple[int, int]]:
    for thread in distinct(calls.thread[begins]).tolist():
        own = calls.thread == thread
        end_ns = np.sort(calls.start_ns[own & ends])
        for begin_ns in np.sort(calls.start_ns[own & begins]).tolist():
            at = int(np.searchsorted(end_ns, begin_ns))
            if at < len(end_ns):
                yield begin_ns, int(end_ns[at])


def _in_order(recording: Recording, chosen: Mask) -> Rows:
    """These calls by time, without those of the driver within one of the runtime."""
    calls, texts = recording[ApiCalls], recording[Strings]
    rows = np.flatnonzero(chosen)
    of_driver = np.array([is_of_driver(texts[name]) for name in calls.name[rows].tolist()], np.bool_)
    rows = rows[np.lexsort((of_driver, calls.correlation[rows]))]
    number = calls.correlation[rows]
    rows = rows[np.append(True, number[1:] != number[:-1])[: len(rows)] | (number < 0)]
    return rows[np.argsort(calls.start_ns[rows], kind="stable")]


def _graphs(kernels: Kernels, copies: Copies) -> Iterator[_Graph]:
    """The graphs of which every launch is complete and ran in one order."""
    many = len(kernels)

    def both(name: str) -> Int64:
        return np.append(getattr(kernels, name), getattr(copies, name))

    graph, node, start_ns, end_ns = map(both, ("graph", "graph_node", "start_ns", "end_ns"))
    correlation = both("correlation")
    rows = np.flatnonzero((graph >= 0) & (node >= 0) & (correlation >= 0) & (start_ns >= 0))
    rows = rows[np.lexsort((start_ns[rows], correlation[rows], graph[rows]))]
    for each in np.split(rows, np.flatnonzero(np.diff(graph[rows])) + 1) if len(rows) else ():
        _, counts = np.unique(correlation[each], return_counts=True)
        if bool((counts != counts[0]).any()):
            continue
        launches = each.reshape(-1, counts[0])
        in_order = (np.diff(node[launches]) > 0).all() and (node[launches] == node[launches[0]]).all()
        apart = (start_ns[launches[:, 1:]] >= end_ns[launches[:, :-1]]).all()
        is_kernel = launches[0] < many
        if bool(in_order) and bool(apart):
            yield _Graph(
                int(start_ns[launches].min()), launches[:, is_kernel], launches[:, ~is_kernel] - many
            )
