"""Makes rows of the account."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.cells import Cells
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.tables.account import LeafKind, Leaves
from perfprobe.tables.columns import Int8, Int32, Int64
from perfprobe.tables.steps import StepPhase

KINDS = {
    StepPhase.DATA: LeafKind.DATA,
    StepPhase.COLLECTION: LeafKind.COLLECTION,
    StepPhase.COMPILE: LeafKind.COMPILE,
    StepPhase.IMPORT: LeafKind.IMPORT,
}
_KEYS = ("kind", "phase", "frame", "module")


def new_leaves(phase: Int8, *, kind: Int8 | None = None, **given: Int64 | Int32) -> Leaves:
    """Rows with these columns; others are 0, and ids and numbers of steps -1."""
    none = {
        name: np.full(len(phase), -1 if name in ("frame", "module", "steps") else 0, dtype)
        for name, dtype in Leaves.dtypes.items()
    }
    kinds = np.array([KINDS.get(StepPhase(each), LeafKind.LINE) for each in phase.tolist()], np.int8)
    known = {"phase": phase.astype(np.int8), "kind": kinds if kind is None else kind, **given}
    return Leaves(**{name: np.asarray(value, Leaves.dtypes[name]) for name, value in (none | known).items()})


def of_cells(cells: Cells, kind: LeafKind | None = None) -> Leaves:
    """Measured time in operators. kind: None for that of the phase."""
    return new_leaves(
        cells.phase,
        kind=None if kind is None else np.full(len(cells), kind, np.int8),
        frame=cells.frame,
        module=cells.module,
        time_ns=cells.time_ns,
        operators_ns=cells.time_ns,
        steps=cells.steps,
    )


def merged(rows: Leaves) -> Leaves:
    """Adds up rows of the same kind, phase, line and module."""
    if len(rows) == 0:
        return rows
    order, first = sort_by_keys([getattr(rows, name) for name in _KEYS])
    ordered = rows.take(order)
    sums = {
        name: np.add.reduceat(getattr(ordered, name), first)
        for name in ("time_ns", "operators_ns", "waited_ns", "error_ns")
    }
    keys = {name: getattr(ordered, name)[first] for name in _KEYS}
    return Leaves(**keys, **sums, steps=np.maximum.reduceat(ordered.steps, first))


def rounded(values: npt.NDArray[np.float64]) -> Int64:
    """Whole numbers."""
    return np.rint(values).astype(np.int64)
