"""The part of a call graph below some of its functions."""

from __future__ import annotations

import re

import numpy as np

from perfprobe.models.code_names import searched
from perfprobe.tables.columns import Mask
from perfprobe.tables.python import CallStructure
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


def matching(trace: Trace, structure: CallStructure, root: re.Pattern[str] | None) -> Mask | None:
    """Which rows of `Code` match the pattern; None if there is no pattern, or if nothing matches."""
    if root is None:
        return None
    strings, code = trace.recording[Strings], structure.python.code
    found = np.array([bool(root.search(searched(strings, code, row))) for row in range(len(code))], np.bool_)
    return found if bool(found.any()) else None


def below(trace: Trace, structure: CallStructure, roots: Mask | None) -> tuple[Mask, Mask]:
    """Which stacks end in a root that no other one called, and which contain one.

    The latter has one more entry, for no stack.
    """
    of_stack = structure.python.of_stack[:-1]
    if roots is None:
        return np.zeros(len(of_stack), np.bool_), np.ones(len(of_stack) + 1, np.bool_)
    parent, is_root = trace.recording[Stacks].parent, np.append(roots, False)[of_stack]
    is_below = np.append(nearest(parent, is_root) >= 0, False)
    return is_root & ~is_below[parent], is_below
