"""Builds the chains and edges, by the rules of HolisticTraceAnalysis or ours, and finds the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from perfprobe.analyse.critical.chains import Chain, thread_chain, work_chains
from perfprobe.analyse.critical.events import AllEvents
from perfprobe.analyse.critical.gpu_edges import Links, launch_links, runs, wait_links
from perfprobe.analyse.critical.handoffs import Handoffs, handoffs, with_python, working
from perfprobe.analyse.critical.longest import Edges, Path, longest_path
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Trace

_Built = tuple[Rows, Chain, Rows, Rows]  # events, their chain, the nodes of their begins, and of their ends


@frozen
class Graph:
    """Chains and the edges between them. The chains of threads come first, in the order of `threads`."""

    chains: list[Chain]
    threads: list[int]
    edges: Edges


def host_chains(all_: AllEvents) -> list[tuple[int, _Built]]:
    """The chain of each thread, with the system's number of the thread."""
    events = all_.events
    host = np.flatnonzero(events.thread != -1) if all_.pieces is not None else np.arange(len(events))
    parts = [(thread, host[own]) for thread, own in each_thread(events.thread[host])]
    return [(thread, (rows, *thread_chain(events, rows))) for thread, rows in parts]


def graph(trace: Trace, all_: AllEvents, host: list[tuple[int, _Built]], *, as_hta: bool) -> Graph:
    """The chains and the edges between them.

    Args:
        as_hta: by the rules of HolisticTraceAnalysis: only recorded waits are waits, and see `runs`.
    """
    events, work = all_.events, all_.pieces
    built = [each for _, each in host]
    links: list[Links] = []
    if work is not None and trace.gpu is not None:
        ends, dependent = wait_links(trace.recording, trace.gpu, all_, work, by_name=not as_hta)
        first, launched = runs(work, dependent, as_hta=as_hta)
        built += work_chains(events, all_.work, first)
        waiting = np.flatnonzero(dependent >= 0)
        yes, no = np.ones(len(waiting), np.bool_), np.zeros(len(waiting), np.bool_)
        between = Links(
            all_.work[dependent[waiting]], yes, all_.work[waiting], no, np.zeros(len(waiting), np.int64)
        )
        links = [ends, launch_links(all_, work, launched), between]
    chain, begin, end = (np.full(len(events), -1, np.intp) for _ in range(3))
    for at, (rows, _, begins, ends_at) in enumerate(built):
        chain[rows], begin[rows], end[rows] = at, begins, ends_at
    edges = _joined([_edges(each, chain, begin, end) for each in links])
    return Graph([each for _, each, _, _ in built], [thread for thread, _ in host], edges)


def path_of(found: Graph) -> Path | None:
    """The longest path; None if the graph is empty."""
    return longest_path(found.chains, found.edges) if found.chains else None


def with_threads(found: Graph, all_: AllEvents, leading: int, stood_still: Mask) -> tuple[Graph, Handoffs]:
    """The graph with the leading thread's time between events, and edges to the threads it waits for.

    Args:
        leading: the chain of the leading thread.
        stood_still: for each gap of the leading thread, whether its samples show that it waited.
    """
    events, chains = all_.events, list(found.chains)
    own = handoffs(events, chains, leading, len(found.threads), stood_still)
    chains[leading] = with_python(chains[leading], own.gap)
    for at in set(own.chain.tolist()):
        chains[at] = working(chains[at], own, at)
    leads, none = np.full(len(own.gap), leading, np.intp), np.full(len(own.gap), -1, np.intp)
    there = Edges(leads, own.gap, own.chain, own.begin, np.maximum(own.before_ns, 0), none)
    back = Edges(own.chain, own.end, leads, own.gap + 1, np.maximum(own.after_ns, 0), none)
    return replace(found, chains=chains, edges=_joined([found.edges, there, back])), own


def _edges(links: Links, chain: Rows, begin: Rows, end: Rows) -> Edges:
    """The links as edges between nodes of chains, without those whose events are in no chain."""
    known = (chain[links.source] >= 0) & (chain[links.target] >= 0)
    columns: list[Any] = [column[known] for column in links]
    links = Links(*columns)
    return Edges(
        chain[links.source],
        np.where(links.from_end, end[links.source], begin[links.source]),
        chain[links.target],
        np.where(links.to_end, end[links.target], begin[links.target]),
        links.weight_ns,
        links.target,
    )


def _joined(parts: list[Edges]) -> Edges:
    none = np.empty(0, np.intp)
    empty = Edges(none, none, none, none, np.empty(0, np.int64), none)
    columns: list[Int64 | Rows] = [np.concatenate(each) for each in zip(empty, *parts, strict=True)]
    return Edges(*columns)
