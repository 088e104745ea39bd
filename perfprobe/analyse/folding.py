"""Decides which functions a call graph leaves out, so that a module's forward is directly under its caller.

Only functions of libraries are left out: torch's wrappers of calls, the import machinery, and what runs while
a library is imported. Of functions with almost no time of their own also private ones, closures, those of
torch.nn's containers, and those that call only a few operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from perfprobe.analyse.paths import Paths
from perfprobe.analyse.stack_weights import StackWeights
from perfprobe.tables.columns import Int32, Mask, distinct
from perfprobe.tables.python import CallStructure, OperatorSites, Origin
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_SELF_SHARE = 0.01  # a function with this share of all time or more has enough of its own to be shown
_FEW_OPERATORS = 3  # a function only passes calls on if this many operators
_NEARLY_ALL = 0.9  # have at least this share of the time in it
_IMPORT = ("<frozen importlib",)
_MACHINERY = (*_IMPORT, "<frozen runpy>")  # files of functions that find and start code
_CONTAINERS = "torch/nn/modules/container.py"
# Torch's wrappers of calls. Closures are here by their short name, which is all they have before Python 3.11.
_DISPATCH = (
    "_call_impl",
    "_wrapped_call_impl",
    "decorate_context",
    "inner",
    "maybe_fallback",
    "profile_hook_step",
    "wrapper",
    "wrapped",
)


def shown(trace: Trace, structure: CallStructure, weights: StackWeights, paths: Paths) -> Int32:
    """The function of each stack, a row of `Code`; -1 if it is left out.

    Args:
        weights: the weights of the graph.
        paths: those of all functions, none left out.
    """
    code, of_stack = structure.python.code, structure.python.of_stack[:-1]
    least = _SELF_SHARE * int(weights.weight.sum())
    outside = weights.take(weights.name < 0)
    own = paths.self_sums(outside.stack, outside.weight)
    total, _ = paths.total(outside.stack, outside.weight)
    passes_on = _passes_on(structure, trace.recording[Stacks].parent) & (total < least)
    is_light = (own < least) & (passes_on | _named(trace, structure, _is_internal))
    is_dispatch = (code.origin == Origin.TORCH) & _named(trace, structure, _is_dispatch)
    is_machinery = in_files(trace, structure, _MACHINERY)
    left_out = (code.origin != Origin.USER) & (is_light | is_dispatch | is_machinery)
    hidden = np.append(left_out, True)[of_stack] | _within_import(trace, structure)
    return np.where(hidden, np.int32(-1), of_stack)


def _within_import(trace: Trace, structure: CallStructure) -> Mask:
    """Returns which stacks are inside the import of a library's module. The stack of that module itself is
    not.
    """
    strings, code, of_stack = trace.recording[Strings], structure.python.code, structure.python.of_stack[:-1]
    above = np.append(of_stack, np.int32(-1))[trace.recording[Stacks].parent]
    is_user = np.append(code.origin == Origin.USER, False)
    is_module = np.array([strings[function] == "<module>" for function in code.function.tolist()] + [False])
    by_import = np.append(in_files(trace, structure, _IMPORT), False)[above]
    is_import = is_module[of_stack] & ~is_user[of_stack] & by_import
    parent = trace.recording[Stacks].parent
    known = nearest(parent, is_import | is_user[of_stack])
    within = np.append(is_import, False)[known]  # in an import, with no user function in between
    return np.asarray(within & (~is_import | np.append(within, False)[parent]))


def in_files(trace: Trace, structure: CallStructure, starts: tuple[str, ...]) -> Mask:
    """Returns which functions are in files whose names begin with one of these."""
    strings, files = trace.recording[Strings], structure.python.code.file
    chosen = [file for file in distinct(files).tolist() if strings[file].startswith(starts)]
    return np.isin(files, chosen)


def _named(trace: Trace, structure: CallStructure, rule: Callable[[str, str], bool]) -> Mask:
    """For which functions a rule is true. The rule gets the names of function and file."""
    strings, code = trace.recording[Strings], structure.python.code
    pairs = zip(code.function.tolist(), code.file.tolist(), strict=True)
    return np.array([rule(strings[function], strings[file]) for function, file in pairs], np.bool_)


def _is_internal(function: str, file: str) -> bool:
    """Whether the function is internal to its library: private, a closure, or of a container."""
    name = function.rsplit(".", 1)[-1]
    is_private = name.startswith("_") and not name.endswith("__")
    return is_private or "<locals>" in function or file.endswith(_CONTAINERS)


def _is_dispatch(function: str, file: str) -> bool:
    """Whether the function is one of torch's wrappers of calls."""
    return function.rsplit(".", 1)[-1] in _DISPATCH


def _passes_on(structure: CallStructure, parent: Int32) -> Mask:
    """Returns which functions only pass calls on: few operators take nearly all time, and no user function
    runs.
    """
    code, of_stack = structure.python.code, structure.python.of_stack[:-1].tolist()
    is_user = [origin == Origin.USER for origin in code.origin.tolist()]
    of_stacks = _forward_times(structure.sites)
    around_user = [False] * len(parent)
    of_code: dict[int, Counter[int]] = {}
    found = np.ones(len(code), np.bool_)
    for stack, above in reversed([*enumerate(parent.tolist())]):
        own, times = of_stack[stack], of_stacks.pop(stack, Counter())
        if own >= 0:
            found[own] &= not around_user[stack]
            of_code.setdefault(own, Counter()).update(times)
        if above >= 0 and (around_user[stack] or (own >= 0 and is_user[own])):
            around_user[above] = True
        elif above >= 0 and times:
            of_stacks.setdefault(above, Counter()).update(times)
    return found & np.array([_are_few(of_code.get(row, Counter())) for row in range(len(code))], np.bool_)


def _forward_times(sites: OperatorSites) -> dict[int, Counter[int]]:
    """Self time in ns of operators outside of backward, by stack and operator name."""
    found: dict[int, Counter[int]] = {}
    rows = sites.take((sites.phase != Phase.BACKWARD) & (sites.stack >= 0))
    for stack, name, self_ns in zip(
        rows.stack.tolist(), rows.name.tolist(), rows.self_ns.tolist(), strict=True
    ):
        found.setdefault(stack, Counter())[name] += self_ns
    return found


def _are_few(times: Counter[int]) -> bool:
    """Whether a few operators take nearly all of the time."""
    most = sum(self_ns for _, self_ns in times.most_common(_FEW_OPERATORS))
    return most >= _NEARLY_ALL * times.total()
