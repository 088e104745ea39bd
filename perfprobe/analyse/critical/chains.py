"""Chains: what one thread, or one stream, did one after the other, as nodes with the time between them.

A node is the begin or the end of an event; the edge to the next node of its chain has the time between them
as its weight, or none. Edges between chains are in `edges`.
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
    """What has a begin and an end: operators and calls of a thread, then the work of GPUs."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    thread: Int64 = column("the system's number of the thread, of work -1")
    bound: Int8 = column("a `Bound`")
    name: Int32 = column("of a kernel or call", Strings)
    operator: Int32 = column("the innermost operator", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")
    is_blocking: Int8 = column("1: a call that may wait for a GPU: its own time is no work")


class Chain(NamedTuple):
    """Nodes in their order. reached_ns: the weights up to each one.

    owner, bound: the event and the `Bound` of the edge that follows each node; -1 where no event is open.
    """

    time_ns: Int64
    reached_ns: Int64
    owner: Rows
    bound: Int8


def thread_chain(events: Events, rows: Rows) -> tuple[Chain, Rows, Rows]:
    """The nodes of a thread's events, which nest; and the node of each one's begin and end.

    Between two outermost events the weight is 0, and so it is into the end of a blocking call.
    """
    count = len(rows)
    start_ns, end_ns = events.start_ns[rows], events.end_ns[rows]
    time_ns, is_begin = np.concatenate([start_ns, end_ns]), np.arange(2 * count) < count
    event = np.concatenate([np.arange(count), np.arange(count)])
    # Of begins at one moment the outer event's first, of ends the inner one's.
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
    """The innermost event that is open after each node, -1 none: the last to begin at that depth."""
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
    """Work in runs, each piece waiting for the one before: rows, chain, and nodes of begins and ends.

    first: the places in `rows` at which runs begin.
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
