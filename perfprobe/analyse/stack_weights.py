"""The weights of stacks in a call graph: time or calls."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table
from perfprobe.tables.stacks import nearest


class StackWeights(Table):
    """Weights, each with its stack (-1 none) and the operator that took it (name -1 for none).

    kind: a `LeafKind` where neither a stack nor an operator is known, else -1.
    """

    stack: Int32
    name: Int32
    overload: Int32
    signature: Int32
    is_backward: Mask
    calls: Int64
    weight: Int64
    kind: Int8


def innermost(parent: Int32, function: Int32) -> Int32:
    """The innermost function of each stack that is not left out; one more entry, -1, for no stack.

    function: the function of each stack itself, -1 if it is left out.
    """
    known = nearest(parent, function >= 0)
    return np.append(np.append(function, np.int32(-1))[known], np.int32(-1))
