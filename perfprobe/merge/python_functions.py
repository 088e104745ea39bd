"""Finds the rows of autograd that run Python: their time outside of operators is Python's time.

Torch has a row around the forward of a Function written in Python, with the name of its class, and one for
its node. Hooks have none. They run in a row of a node or of the engine, and so does what checkpoint computes
again for saved tensors. They are only noticed if they called operators.
"""

from __future__ import annotations

import numpy as np

from perfprobe.merge.nest import parents
from perfprobe.merge.user_lines import ENGINE_FILE, ENGINE_FUNCTION, frames_in
from perfprobe.models.nodes import ENGINE, is_python_node
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.events import Operators
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION
from perfprobe.tables.stacks import Stacks, depths
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread

# Every forward of such a Function is called from here, and nothing else is.
_APPLY_FILE = "torch/autograd/function.py"
_APPLY = ("Function.apply", "apply")  # the second one in Python 3.10
_DETACH = "detach"  # the C++ name, without "aten::", of what a Function's results pass through
_COMPILED_NODE = "CompiledFunctionBackward"  # of torch.compile, which compiles it when it first runs
_NEVER = np.iinfo(np.int64).min


class PythonFunctions:
    """Examines rows batch by batch, in the order of the file."""

    def __init__(self, recording: Recording, compiling: Mask) -> None:
        """compiling: from `compiled.compiling`."""
        names = recording[Strings]
        self._is_node = names.marks(is_python_node)
        self._may_be_one = names.marks(lambda name: "::" not in name and name != _DETACH)
        self._is_compiled = names.marks(lambda name: name == _COMPILED_NODE)
        applied = np.logical_or(*(frames_in(recording, _APPLY_FILE, name) for name in _APPLY))
        in_apply = np.append(applied, False)[recording[Stacks].frame]
        self._in_apply = np.append(in_apply, False)
        self._is_engine = names.marks(lambda name: name.startswith(ENGINE))
        stacks = recording[Stacks]
        self._depth = np.append(depths(stacks.parent), -1)
        engine = np.append(frames_in(recording, ENGINE_FILE, ENGINE_FUNCTION), False)[stacks.frame]
        self._may_be_called = np.append(~engine, False)  # operators called by Python that the engine called
        self._compiling = compiling
        self._compiled_ns: dict[int, int] = {}  # by thread: start of the last operator of a compiler

    def find(self, rows: Operators) -> Mask:
        """A mask of the rows that are such Functions, forward or node, or that ran a hook."""
        found = (rows.scope == BACKWARD_FUNCTION) & self._is_node[rows.name]
        found |= (rows.scope == FUNCTION) & self._may_be_one[rows.name] & self._in_apply[rows.stack]
        found[self._around_hooks(rows)] = True
        return np.asarray(found)

    def _around_hooks(self, rows: Operators) -> Int32:
        """Returns the rows of nodes and the engine directly around operators that Python in them called."""
        if not bool(((rows.node_thread >= 0) & self._may_be_called[rows.stack]).any()):
            return np.empty(0, np.int32)
        around = parents(rows.thread, rows.depth)
        child = np.flatnonzero(around >= 0)
        outer = around[child]
        chosen = (rows.scope[outer] == BACKWARD_FUNCTION) | self._is_engine[rows.name[outer]]
        chosen &= self._depth[rows.stack[child]] > self._depth[rows.stack[outer]]
        found: Int32 = outer[chosen]
        return found

    def compile_themselves(self, rows: Operators) -> Mask:
        """A mask of nodes of compiled code that were compiled as they ran, known by the operators inside."""
        found = np.zeros(len(rows), np.bool_)
        for thread, own in each_thread(rows.thread):
            start_ns = rows.start_ns[own]
            compiled_ns = np.where(self._compiling[rows.stack[own]], start_ns, _NEVER)
            compiled_ns[0] = max(int(compiled_ns[0]), self._compiled_ns.get(thread, _NEVER))
            # An operator that ended before this row and began within it is inside.
            latest_ns = np.maximum.accumulate(compiled_ns)
            self._compiled_ns[thread] = int(latest_ns[-1])
            found[own] = self._is_compiled[rows.name[own]] & (latest_ns >= start_ns)
        return np.asarray(found & (rows.scope == BACKWARD_FUNCTION))


def own_times(is_python: Mask, self_ns: Int64) -> tuple[Int64, Int64]:
    """Returns the operators' part and Python's part of self times (-1 for other rows)."""
    if not bool(is_python.any()):
        return self_ns, np.broadcast_to(np.int64(-1), len(self_ns))
    return np.where(is_python, np.minimum(self_ns, 0), self_ns), np.where(is_python, self_ns, -1)
