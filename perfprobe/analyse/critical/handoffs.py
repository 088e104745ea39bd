"""Work that the leading thread handed to another thread, and waited for.

Between two outermost events the leading thread runs Python, and that time is on the path. It waited instead
if another thread ran backward meanwhile, or if its samples show that it stood still while another thread
worked. The path may then change to the other thread when that begins, and come back when it has ended.
HolisticTraceAnalysis has no edges between threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.critical.chains import Chain, Events
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.critical import Bound
from perfprobe.tables.trace import Phase

_MOST = 0.5  # the leading thread waits for a thread that works for at least this share of the gap


class Handoffs(NamedTuple):
    """Gaps of the leading thread in which it waits for another thread.

    gap: the node of the leading thread before the gap. chain: the other thread's chain. begin, end: its nodes
    between which the leading thread waits. before_ns, after_ns: time of the gap before begin and after end.
    """

    gap: Rows
    chain: Rows
    begin: Rows
    end: Rows
    before_ns: Int64
    after_ns: Int64


def gaps_of(chain: Chain) -> Rows:
    """The nodes of a thread after which no event is open until the next node."""
    return np.flatnonzero(chain.owner[:-1] < 0)


def with_python(chain: Chain, but: Rows) -> Chain:
    """The chain with the time between outermost events as weights, except in the gaps after these nodes."""
    weight_ns, gaps = np.diff(chain.reached_ns), gaps_of(chain)
    weight_ns[gaps] = np.diff(chain.time_ns)[gaps]
    weight_ns[but] = 0
    return chain._replace(reached_ns=np.append(np.int64(0), np.cumsum(weight_ns)))


def handoffs(events: Events, chains: list[Chain], leading: int, threads: int, stood_still: Mask) -> Handoffs:
    """The gaps in which the leading thread waits for another thread.

    Args:
        threads: how many of the chains, from the first on, are those of threads.
        stood_still: for each gap of the leading thread, whether its samples show that it waited.
    """
    own = chains[leading]
    gaps = gaps_of(own)
    start_ns, end_ns = own.time_ns[gaps], own.time_ns[gaps + 1]
    best_ns = np.zeros(len(gaps), np.int64)
    best = np.full((3, len(gaps)), -1, np.int64)
    for at in range(threads):
        if at == leading:
            continue
        begin, end = _outermost(chains[at])
        first = np.searchsorted(chains[at].time_ns[begin], start_ns)
        last = np.searchsorted(chains[at].time_ns[end], end_ns, "right") - 1
        inside = (first <= last) & (first < len(begin))
        begin_node, end_node = begin[np.minimum(first, len(begin) - 1)], end[np.maximum(last, 0)]
        worked_ns = np.where(inside, chains[at].time_ns[end_node] - chains[at].time_ns[begin_node], 0)
        is_backward = events.phase[chains[at].owner[begin_node]] == Phase.BACKWARD
        better = (
            (worked_ns > best_ns) & (worked_ns >= _MOST * (end_ns - start_ns)) & (is_backward | stood_still)
        )
        best_ns[better] = worked_ns[better]
        best[:, better] = np.stack([np.full(len(gaps), at), begin_node, end_node])[:, better]
    found = np.flatnonzero(best[0] >= 0)
    chain, begin, end = best[:, found]
    begun_ns = np.array([chains[at].time_ns[node] for at, node in zip(chain, begin, strict=True)], np.int64)
    ended_ns = np.array([chains[at].time_ns[node] for at, node in zip(chain, end, strict=True)], np.int64)
    return Handoffs(gaps[found], chain, begin, end, begun_ns - start_ns[found], end_ns[found] - ended_ns)


def working(chain: Chain, own: Handoffs, at: int) -> Chain:
    """The chain of another thread. While the leading thread waits for it, time between its events counts."""
    weight_ns, gaps = np.diff(chain.reached_ns), gaps_of(chain)
    marks = np.zeros(len(chain.time_ns) + 1, np.int64)
    mine = own.chain == at
    np.add.at(marks, own.begin[mine], 1)
    np.add.at(marks, own.end[mine], -1)
    waited_for = gaps[np.cumsum(marks)[gaps] > 0]
    weight_ns[waited_for] = np.diff(chain.time_ns)[waited_for]
    bound = chain.bound.copy()
    bound[gaps] = Bound.CPU
    return chain._replace(reached_ns=np.append(np.int64(0), np.cumsum(weight_ns)), bound=bound)


def _outermost(chain: Chain) -> tuple[Rows, Rows]:
    """The nodes at which outermost events begin, and those at which they end."""
    is_out = chain.owner < 0
    return np.flatnonzero(~is_out & np.append(True, is_out[:-1])), np.flatnonzero(is_out)
