"""The tree of modules, with the operator time of each and its children."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sums_by
from perfprobe.analyse.lines import PHASES
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.findings import HotLines, HotModules, LibraryLines, ModuleTimes, Sums
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.trace import Phase, Trace


def hot_modules(trace: Trace, rows: Sums, lines: HotLines, library: LibraryLines) -> HotModules:
    """The times of modules, and how much of the time is on the hottest line of all.

    Args:
        rows: operators, without ranges.
        lines: the same by line, hottest first.
    """
    times = module_times(trace, rows)
    placed = np.flatnonzero(lines.frame >= 0)
    if len(placed) == 0:
        return HotModules(times, library, -1, 0.0, 0)
    hottest = int(placed[0])  # `lines` has the most typical time first
    frame = int(lines.frame[hottest])
    share = int(lines.self_ns[hottest]) / max(int(lines.self_ns.sum()), 1)
    modules = distinct(rows.module[_on_line(trace, rows.frame, frame)])
    return HotModules(times, library, frame, share, int(np.count_nonzero(modules >= 0)))


def _on_line(trace: Trace, frames: Int32, frame: int) -> Mask:
    """Returns which frames are on the same line as this one, in any function."""
    known = trace.recording[Frames]
    same = (known.file == known.file[frame]) & (known.line == known.line[frame])
    return np.append(same, False)[frames]


def module_times(trace: Trace, rows: Sums) -> ModuleTimes:
    """The modules of the rows and their parents, in ns; a parent comes before its children."""
    rows = rows.take((rows.module >= 0) & (rows.phase != Phase.DATA))
    parent = _parents(trace)

    def sums(values: Int64, chosen: Mask | slice = slice(None)) -> Int64:
        return sums_by(rows.module[chosen], values[chosen], len(parent))

    measured = rows.gpu_self_ns >= 0
    own = {
        "calls": sums(rows.calls),
        "total_ns": sums(rows.self_ns),
        **{name: sums(rows.self_ns, np.isin(rows.phase, phases)) for name, phases in PHASES.items()},
        "gpu_self_ns": sums(rows.gpu_self_ns, measured),
    }
    own_ns = own["total_ns"].copy()
    total = dict(zip(own, _with_parts(np.stack(list(own.values())), parent), strict=True))
    if not bool(measured.any()):
        total["gpu_self_ns"][:] = -1
    order = _in_order(np.flatnonzero(total["calls"]), parent)
    place = np.full(len(parent) + 1, -1, np.int32)
    place[order] = np.arange(len(order))
    return ModuleTimes(
        module=order.astype(np.int32),
        parent=place[parent[order]],
        own_ns=own_ns[order],
        **{name: column[order] for name, column in total.items()},
    )


def _parents(trace: Trace) -> Int32:
    """The parent of each module, -1 none. Of modules with equal paths it is the first, as in the rows."""
    parent = trace.recording[Modules].parent.tolist()
    first: dict[str, int] = {}
    same = [first.setdefault(text, module) for module, text in enumerate(trace.module_texts)]
    return np.array([same[at] if at >= 0 else -1 for at in parent], np.int32)


def _with_parts(own: Int64, parent: Int32) -> Int64:
    """Add each module's sums to those of its parents, which must come before it.

    own: a row for each sum, a column for each module.
    """
    total = own.T.copy()
    for module in np.flatnonzero(parent >= 0)[::-1].tolist():
        total[parent[module]] += total[module]
    return total.T.copy()


def _in_order(modules: Rows, parent: Int32) -> Rows:
    """The modules, each followed by its children, in the order of the model."""
    parts: dict[int, list[int]] = {}
    for module in modules.tolist():
        parts.setdefault(int(parent[module]), []).append(module)
    found: list[int] = []
    waiting = parts.get(-1, [])[::-1]
    while waiting:
        module = waiting.pop()
        found.append(module)
        waiting += parts.get(module, [])[::-1]
    return np.array(found, np.intp)
