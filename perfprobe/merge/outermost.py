"""Finds the outermost operator around each operator: what the program itself called."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.threads import each_thread

_NEVER = np.iinfo(np.int64).max


def find_outermost(rows: Operators) -> tuple[Rows, Mask]:
    """Returns for every row the outermost operator around it, often itself, and whether that may be wrong.

    Rows are a batch in the order of their ends. Ranges are not operators; they get the outermost operator
    that comes next. If the batch ends inside an operator, the outermost rows so far are used instead.
    """
    outermost = np.arange(len(rows))
    is_cut = np.zeros(len(rows), np.bool_)
    for _, group in each_thread(rows.thread):
        start_ns = np.where(rows.scope[group] == USER_SCOPE, _NEVER, rows.start_ns[group])
        earliest_ns = np.minimum.accumulate(start_ns[::-1])[::-1]
        is_outermost = start_ns < np.append(earliest_ns[1:], _NEVER)
        is_outermost[-1] = True
        own = np.flatnonzero(is_outermost)
        behind: Rows = np.cumsum(is_outermost) - is_outermost  # the next outermost one
        outermost[group] = group[own[behind]]
        depth = rows.depth[group]
        is_cut[group[int(np.flatnonzero(depth == depth.min())[-1]) + 1 :]] = True
    return outermost, is_cut


def keys(rows: Operators, outermost: Rows) -> Int64:
    """Returns keys of the program's calls: the stack of the call and the operator's name."""
    return rows.stack[outermost].astype(np.int64) << 32 | rows.name[outermost]
