"""Chains: the events of one thread or one stream in their order, as nodes with the time between them.

A node is the begin or the end of an event. Each node has an edge to the next one of its chain, whose weight
is the time between the two, or 0. Edges between chains are `Edges` (`longest.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perfprobe.analyse.grouping import first_of_each, sort_codes
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table, column
from perfprobe.tables.critical import Bound
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class Events(Table):
    """Operators and API calls of threads, then the work of GPUs (kernels, copies, fills)."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    thread: Int64 = column("the system's number of the thread, -1 for work of GPUs")
    bound: Int8 = column("a `Bound`")
    name: Int32 = column("of a kernel or call", Strings)
    operator: Int32 = column("the innermost operator", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    is_blocking: Int8 = column("1: a call that may wait for a GPU, so its own time counts as waiting")


class Chain(NamedTuple):
    """Nodes ordered by time. reached_ns: the sum of the weights up to each node.

    owner, bound: the event during which the edge after each node passes, -1 for none, and its `Bound`.
    """

    time_ns: Int64
    reached_ns: Int64
    owner: Rows
    bound: Int8


def thread_chain(events: Events, rows: Rows) -> tuple[Chain, Rows, Rows]:
    """The chain of one thread's events, which nest; and the node of each event's begin and of its end.

    An edge between two outermost events has weight 0. So has the edge to the end of a blocking call.
    """
    count = len(rows)
    start_ns, end_ns = events.start_ns[rows], events.end_ns[rows]
    time_ns, is_begin = np.concatenate([start_ns, end_ns]), np.arange(2 * count) < count
    event = np.concatenate([np.arange(count), np.arange(count)])
    # Several begins at one time: the outer event first. Several ends: the inner event first.
    other_ns = np.concatenate([-end_ns, -start_ns])
    order = np.lexsort((event * np.where(is_begin, 1, -1), other_ns, is_begin, time_ns))
    time_ns, is_begin, event = time_ns[order], is_begin[order], event[order]
    place = np.empty(2 * count, np.intp)
    place[order] = np.arange(2 * count)
    owner = _innermost(is_begin, event)
    weight_ns = np.where(owner[:-1] >= 0, np.diff(time_ns), 0)
    ends_blocking = ~is_begin[1:] & (events.is_blocking[rows][event[1:]] == 1)
    weight_ns[ends_blocking] = 0
    bound = np.append(events.bound[rows], np.int8(Bound.PYTHON))[owner]
    owner = np.append(rows, -1)[owner]
    chain = Chain(time_ns, np.append(np.int64(0), np.cumsum(weight_ns)), owner, bound)
    return chain, place[:count], place[count:]


def _innermost(is_begin: Mask, event: Rows) -> Rows:
    """The innermost event that is open after each node, -1 none: the last that began at that depth."""
    depth = np.cumsum(np.where(is_begin, 1, -1))
    owner = np.full(len(event), -1, np.intp)
    order, codes = sort_codes(np.maximum(depth, 0).astype(np.int64))
    for own in np.split(order, first_of_each(codes)[1:]):
        if depth[own[0]] <= 0:
            continue
        latest = np.maximum.accumulate(np.where(is_begin[own], np.arange(len(own)), -1))
        known = latest >= 0
        owner[own[known]] = event[own[latest[known]]]
    return owner


def work_chains(events: Events, rows: Rows, first: Rows) -> list[tuple[Rows, Chain, Rows, Rows]]:
    """One chain for each run of work, in which each piece waits for the one before.

    Args:
        first: the places in `rows` at which runs begin.

    Returns:
        For each run: its events, its chain, and the nodes of their begins and of their ends.
    """
    time_ns = np.stack([events.start_ns[rows], events.end_ns[rows]], axis=1).reshape(-1)
    weight_ns = np.maximum(np.diff(time_ns, prepend=time_ns[:1]), 0)
    weight_ns[2 * first] = 0
    whole_ns = np.cumsum(weight_ns)
    bounds: Any = np.stack([events.bound[rows], np.full(len(rows), Bound.KERNEL_GAP, np.int8)], axis=1)
    bound, owner = bounds.reshape(-1), np.repeat(rows, 2)
    length = np.diff(np.append(first, len(rows)))
    reached_ns = whole_ns - np.repeat(whole_ns[2 * first], 2 * length)
    places = np.arange(0, 2 * int(length.max(initial=0)), 2)
    found = []
    for at, count in zip(first.tolist(), length.tolist(), strict=True):
        part = slice(2 * at, 2 * (at + count))
        chain = Chain(time_ns[part], reached_ns[part], owner[part], bound[part])
        found.append((rows[at : at + count], chain, places[:count], places[:count] + 1))
    return found
