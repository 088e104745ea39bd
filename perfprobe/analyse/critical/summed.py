"""The critical path as a table: its stretches grouped by what bounds them and where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.critical.chains import Chain, Events
from perfprobe.analyse.critical.events import AllEvents
from perfprobe.analyse.critical.graph import Graph
from perfprobe.analyse.critical.handoffs import gaps_of
from perfprobe.analyse.critical.longest import Path
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.idle.layers import HostSpans
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.ranges import Spans
from perfprobe.tables.columns import Int8, Int64, Rows, Table, column
from perfprobe.tables.critical import Bound, CriticalRows
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.intervals import around
from perfprobe.tables.trace import NoLine, Trace

_KEYS = ("bound", "name", "operator", "frame", "forward_frame", "phase", "no_line")
_PLACE = ("frame", "forward_frame", "phase", "no_line")
_NO_PLACE = {"frame": -1, "forward_frame": -1, "phase": 0, "no_line": int(NoLine.NO_PYTHON)}

_Columns = dict[str, npt.NDArray[Any]]


class _Stretch(Table):
    """A stretch of the path."""

    start_ns: Int64 = column("when it begins")
    took_ns: Int64 = column("what it adds to the path")
    bound: Int8 = column("a `Bound`")
    owner: Int64 = column("an event, -1 none")


def critical_rows(
    trace: Trace, all_: AllEvents, found: Graph, path: Path, python: tuple[int, HostSpans, Spans]
) -> CriticalRows:
    """The stretches in groups, most time first.

    Args:
        python: the chain of the leading thread, its samples, and its waits for a DataLoader.
    """
    leading, samples, data = python
    on_path = _on_path(found, path)
    parts = [_of_chain(chain, on_path[at]) for at, chain in enumerate(found.chains) if at in on_path]
    parts.append(_of_edges(found, path))
    rows = _Stretch.concat(parts)
    rows = rows.take(rows.took_ns > 0)
    columns = _placed(all_.events, rows)
    gaps = _gaps(found.chains[leading], on_path.get(leading))
    return _summed(
        trace, [columns, *_of_python(trace, all_.events, found.chains[leading], gaps, samples, data)]
    )


def _on_path(found: Graph, path: Path) -> dict[int, Rows]:
    """For each chain on the path, the nodes whose next edge is on it."""
    by_chain: dict[int, list[npt.NDArray[np.intp]]] = {}
    for chain, first, last in path.stretches:
        by_chain.setdefault(chain, []).append(np.arange(first, last))
    return {chain: np.concatenate(nodes) for chain, nodes in by_chain.items()}


def _of_chain(chain: Chain, nodes: Rows) -> _Stretch:
    """The stretches along one chain. Gaps of the leading thread are left out: `_of_python` has them."""
    took_ns = np.diff(chain.reached_ns)[nodes]
    kept = (chain.owner[nodes] >= 0) | (chain.bound[nodes] != Bound.PYTHON)
    nodes, took_ns = nodes[kept], took_ns[kept]
    owner = chain.owner[nodes].astype(np.int64)
    return _Stretch(chain.time_ns[nodes], took_ns, chain.bound[nodes], owner)


def _of_edges(found: Graph, path: Path) -> _Stretch:
    """The edges between chains: launches, and the time around work handed to another thread."""
    edges = np.array(path.edges, np.intp)
    owner, took_ns = found.edges.owner[edges].astype(np.int64), found.edges.weight_ns[edges]
    bound = np.where(owner >= 0, np.int8(Bound.LAUNCH), np.int8(Bound.CPU)).astype(np.int8)
    return _Stretch(np.zeros(len(edges), np.int64), took_ns, bound, owner)


def _gaps(chain: Chain, nodes: Rows | None) -> Rows:
    """The nodes of the leading thread after which the path goes through Python."""
    if nodes is None:
        return np.empty(0, np.intp)
    is_gap = np.zeros(len(chain.time_ns), np.bool_)
    is_gap[gaps_of(chain)] = True
    return nodes[is_gap[nodes] & (np.diff(chain.reached_ns)[nodes] > 0)]


def _placed(events: Events, rows: _Stretch) -> _Columns:
    """Returns stretches with the place of their event, or for work of a GPU of its launch."""
    owner = rows.owner
    columns: _Columns = {
        name: np.append(getattr(events, name), getattr(events, name).dtype.type(_NO_PLACE.get(name, -1)))[
            owner
        ]
        for name in ("name", "operator", *_PLACE)
    }
    for name in ("name", "operator"):  # gaps between kernels are one row for each line, whatever the kernel
        columns[name] = np.where(rows.bound == Bound.KERNEL_GAP, np.int32(-1), columns[name])
    return {**columns, "bound": rows.bound, "took_ns": rows.took_ns}


def _of_python(
    trace: Trace, events: Events, chain: Chain, gaps: Rows, samples: HostSpans, data: Spans
) -> list[_Columns]:
    """Python between outermost events: first where samples show it, then what has no samples.

    What has no samples counts at the line of the next event, or at that of a wait for a DataLoader.
    """
    start_ns, end_ns = chain.time_ns[gaps], chain.time_ns[gaps + 1]
    seen_ns = Covered(start_ns, end_ns).within(samples.start_ns, samples.end_ns)
    is_data = samples.cause == IdleCause.DATA
    sampled = _python_columns(np.where(is_data, Bound.DATA, Bound.PYTHON), samples.columns(), seen_ns)
    left_ns = end_ns - start_ns - Covered(samples.start_ns, samples.end_ns).within(start_ns, end_ns)
    following = chain.owner[gaps + 1]
    at = around(data.start_ns, data.end_ns, (start_ns + end_ns) // 2)
    in_data = at >= 0
    frame = np.append(trace.sites.frame, np.int32(-1))[np.append(data.stack, np.int32(-1))[at]]
    places: _Columns = {name: getattr(events, name)[following] for name in _PLACE}
    places["frame"] = np.where(in_data, frame, places["frame"])
    unseen = np.where(places["frame"] < 0, np.int8(NoLine.NO_PYTHON), np.int8(NoLine.NONE))
    places["no_line"] = np.where(in_data, unseen, places["no_line"])
    return [sampled, _python_columns(np.where(in_data, Bound.DATA, Bound.PYTHON), places, left_ns)]


def _python_columns(bound: npt.NDArray[Any], places: _Columns, took_ns: Int64) -> _Columns:
    none = np.full(len(took_ns), -1, np.int32)
    kept = took_ns > 0
    columns: _Columns = {"bound": bound.astype(np.int8), "name": none, "operator": none, "took_ns": took_ns}
    columns |= {name: places[name] for name in _PLACE}
    return {name: values[kept] for name, values in columns.items()}


def _summed(trace: Trace, parts: list[_Columns]) -> CriticalRows:
    columns: _Columns = {name: np.concatenate([part[name] for part in parts]) for name in (*_KEYS, "took_ns")}
    if len(columns["took_ns"]) == 0:
        return CriticalRows.empty()
    order, first = sort_by_keys([columns[name] for name in _KEYS])
    took_ns = columns["took_ns"][order]
    found = CriticalRows(
        **{name: columns[name][order[first]] for name in _KEYS},
        linked=np.ones(len(first), np.int8),
        stretches=np.diff(np.append(first, len(order))).astype(np.int64),
        total_ns=np.add.reduceat(took_ns, first),
        longest_ns=np.maximum.reduceat(took_ns, first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))
