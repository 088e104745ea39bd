"""What weighs on stacks: the time or the calls that a call graph hangs up."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask, Table
from perfprobe.tables.stacks import nearest


class Load(Table):
    """Weight by the stack that it hangs under (-1 none) and the operator that took it (name -1: none)."""

    stack: Int32
    name: Int32
    overload: Int32
    signature: Int32
    is_backward: Mask
    weight: Int64


def innermost(parent: Int32, function: Int32) -> Int32:
    """The innermost function of each stack that is not passed over, with one more entry, -1, for no stack."""
    known = nearest(parent, function >= 0)
    return np.append(np.append(function, np.int32(-1))[known], np.int32(-1))
