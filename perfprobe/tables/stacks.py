"""Where in the program something happened: frames, stacks, modules.

Invariant: in `Stacks` and `Modules` a parent's id is less than its child's, so one pass in row order meets
parents first, and there are no cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfprobe.tables.columns import Int32, Mask, Table


@dataclass(frozen=True)
class Frames(Table):
    """A place in Python code. file, function: string ids; first_line of the function; line now running."""

    file: Int32
    function: Int32
    first_line: Int32
    line: Int32


@dataclass(frozen=True)
class Stacks(Table):
    """A prefix tree of Python stacks, one row a node.

    parent: stack id of the caller, -1 for the outermost; frame: the innermost frame, -1 for the row that
    stands for all stacks beyond the limit; module: the innermost nn.Module being called, -1 none.
    """

    parent: Int32
    frame: Int32
    module: Int32


@dataclass(frozen=True)
class Modules(Table):
    """A tree of nn.Modules. parent: module id, -1 for a root; name within the parent and type: string ids."""

    parent: Int32
    name: Int32
    type: Int32


def nearest(parent: Int32, marked: Mask) -> Int32:
    """For every row of a tree (parent < child) the nearest marked row at or above it, -1 for none."""
    rows = len(parent)
    # Row `rows` stands for "none". Every step doubles the distance looked at: log2(depth) steps.
    step = np.append(np.where(marked, np.arange(rows), np.where(parent < 0, rows, parent)), rows)
    while True:
        further = step[step]
        if np.array_equal(further, step):
            break
        step = further
    return np.where(step[:-1] == rows, -1, step[:-1]).astype(np.int32)
