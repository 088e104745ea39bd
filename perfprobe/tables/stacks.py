"""Places in the program: frames, stacks, modules.

In `Stacks` and `Modules` a parent's id is less than its child's. So a pass in row order meets parents first,
and there are no cycles.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Int64, Itself, Mask, Table, column
from perfprobe.tables.strings import Strings

DEEPEST_MODULES = 256  # modules within each other; models have some ten


class Frames(Table, name="frames"):
    """Places in Python code."""

    file: Int32 = column("the code's file", Strings)
    function: Int32 = column("the function's qualified name", Strings)
    first_line: Int32 = column("the line at which the function begins")
    line: Int32 = column("the line that was running")
    text_hash: Int64 = column(
        "63 bits of a hash (FNV-1a) of that line's text without blanks at its ends, of the user's files "
        "that were not changed after the program began",
        optional=True,
    )


class Modules(Table, name="modules"):
    """Trees of nn.Modules."""

    parent: Int32 = column("the module it is in, -1 for a root", Itself)
    name: Int32 = column("its name within the parent", Strings)
    type: Int32 = column("its class", Strings)


class Stacks(Table, name="stacks"):
    """A prefix tree of Python stacks, one row for each node."""

    parent: Int32 = column("the stack of the caller, -1 for the outermost", Itself)
    frame: Int32 = column("the innermost frame, -1 in the row for all stacks beyond the limit", Frames)
    module: Int32 = column("the innermost nn.Module that is being called", Modules)
    asks_next: Int8 = column(
        "1 if the innermost frame asks the iterator of a `for` loop for its next item", optional=True
    )


def nearest(parent: Int32, marked: Mask) -> Int32:
    """Returns for every row of a tree (parent < child) the nearest marked row at or above it; -1 if none."""
    rows = len(parent)
    # Row `rows` means none. Each pass doubles the distance, so there are log2(depth) passes.
    step = np.append(np.where(marked, np.arange(rows), np.where(parent < 0, rows, parent)), rows)
    while True:
        further = step[step]
        if np.array_equal(further, step):
            break
        step = further
    return np.where(step[:-1] == rows, -1, step[:-1]).astype(np.int32)


def depths(parent: Int32) -> Int64:
    """Returns the depth of each row of a prefix tree."""
    depth, above = (parent >= 0).astype(np.int64), parent.copy()
    while len(above) and int(above.max()) >= 0:
        inside = above >= 0
        depth[inside] += depth[above[inside]]
        above[inside] = above[above[inside]]
    return depth
