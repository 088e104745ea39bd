"""Which functions a call graph leaves out, so that a module's forward hangs directly under its caller.

Only functions of libraries in which next to nothing passes by itself: those that are a matter of the library
alone (private ones, closures, the containers of torch.nn), and those through which a few operators are called.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.analyse.stacked import Load, innermost, totals
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.python import Calling, OperatorSites, Origin
from perfprobe.tables.trace import Phase, Trace

_OWN_SHARE = 0.01  # from which a function is never left out
_FEW_OPERATORS = 3
_NEARLY_ALL = 0.9
_CONTAINERS = "torch/nn/modules/container.py"
# Decorators' closures, by the only name they have before Python 3.11.
_CLOSURES = ("decorate_context", "inner", "maybe_fallback", "profile_hook_step", "wrapper", "wrapped")


def folded(trace: Trace, calling: Calling, load: Load) -> Mask:
    """For every row of `Code` whether it is left out."""
    parent, code = trace.recording.stacks.parent, calling.python.code
    of_stack = calling.python.of_stack[:-1]
    whole = max(int(load.weight.sum()), 1)
    outside = load.take(load.name < 0).by_stack(len(parent))
    own = np.zeros(len(code) + 1, np.int64)
    np.add.at(own, innermost(parent, of_stack)[:-1], outside)
    is_library = (code.origin != Origin.USER) & (own[:-1] < _OWN_SHARE * whole)
    total = totals(parent, of_stack, len(code), outside).of_function
    passes_on = _passes_on(calling, parent) & (total < _OWN_SHARE * whole)
    return np.asarray(is_library & (passes_on | _internal(trace, calling)))


def _internal(trace: Trace, calling: Calling) -> Mask:
    """Functions that are a matter of their library alone."""
    strings, code = trace.recording.strings, calling.python.code
    found = [
        _is_internal(strings[function], strings[file])
        for file, function in zip(code.file.tolist(), code.function.tolist(), strict=True)
    ]
    return np.array(found, np.bool_)


def _is_internal(function: str, file: str) -> bool:
    name = function.rsplit(".", 1)[-1]
    is_private = name.startswith("_") and not name.endswith("__")
    return is_private or "<locals>" in function or name in _CLOSURES or file.endswith(_CONTAINERS)


def _passes_on(calling: Calling, parent: Int32) -> Mask:
    """Functions with a few forward operators below, by name, as far as these take time, and no user function."""
    code, of_stack = calling.python.code, calling.python.of_stack[:-1].tolist()
    is_user = [origin == Origin.USER for origin in code.origin.tolist()]
    of_stacks = _forward_times(calling.sites)
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
    """Time by stack and operator name."""
    found: dict[int, Counter[int]] = {}
    rows = sites.take((sites.phase != Phase.BACKWARD) & (sites.stack >= 0))
    for stack, name, self_ns in zip(rows.stack.tolist(), rows.name.tolist(), rows.self_ns.tolist(), strict=True):
        found.setdefault(stack, Counter())[name] += self_ns
    return found


def _are_few(times: Counter[int]) -> bool:
    most = sum(self_ns for _, self_ns in times.most_common(_FEW_OPERATORS))
    return most >= _NEARLY_ALL * times.total()
