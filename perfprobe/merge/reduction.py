"""Finds the operators of DistributedDataParallel's reducer, which adds up gradients of several processes.

Autograd's engine calls the reducer, which is C++, when a parameter's gradient is accumulated and again when
backward is done. So its operators run in the engine's row around AccumulateGrad, after that node, or in the
engine's call outside of all nodes. Without DDP nothing is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.merge.backward import SitesOfRows
from perfprobe.merge.user_lines import ENGINE_FILE, ENGINE_FUNCTION, frames_in
from perfprobe.models.nodes import ACCUMULATE, ENGINE
from perfprobe.tables.columns import Mask, Rows, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION, USER_SCOPE
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import NoLine, Phase, Sites

# Names of ranges: the reducer's own, and the one around DDP's forward.
_REDUCER = ("torch::distributed::reducer::", "torch.distributed.ddp.reducer::")
_FORWARD = "DistributedDataParallel.forward"
_DDP_FILE = "torch/nn/parallel/distributed.py"
_DDP_INIT = ("DistributedDataParallel.__init__", "__init__")  # the second one in Python 3.10


@dataclass
class _Thread:
    """The state of a thread.

    Attributes:
        is_after: whether AccumulateGrad has ended and the engine's row around it has not.
        rows: number of rows since then.
    """

    is_after: bool = False
    rows: int = 0


class GradientReduction:
    """Finds the reducer's operators. frame: the only line that made a DDP; -1 if none or several."""

    def __init__(self, recording: Recording, sites: Sites) -> None:
        names = recording[Strings]
        self._named = names.marks(lambda name: name.startswith(_REDUCER))
        self.is_there = bool((self._named | names.marks(lambda name: name == _FORWARD)).any())
        if not self.is_there:
            return
        stacks = recording[Stacks]
        self._node = names.marks(lambda name: name == ACCUMULATE)
        self._engine = names.marks(lambda name: name.startswith(ENGINE))
        in_engine = np.append(frames_in(recording, ENGINE_FILE, ENGINE_FUNCTION), False)[stacks.frame]
        self._in_engine = np.append(in_engine, False)
        self._threads: dict[int, _Thread] = {}
        self.frame = _construction(recording, stacks, sites)

    def find(self, rows: Operators) -> Mask:
        """A mask of the reducer's rows in a batch. Batches come in file order, rows in the order of ends."""
        found = self._named[rows.name] | (self._in_engine[rows.stack] & (rows.node_thread < 0))
        for thread, own in each_thread(rows.thread):
            found[own] |= self._after_nodes(rows, own, self._threads.setdefault(thread, _Thread()))
        return np.asarray(found & (rows.scope != USER_SCOPE))

    def label(self, rows: Operators, columns: dict[str, npt.NDArray[Any]], sites: SitesOfRows) -> None:
        """Corrects the columns for the origin of rows, unless the user's own Python ran there.

        The line is the one that made the DDP. If it is not known, it is that of the call of backward.
        """
        if not self.is_there:
            return
        found = self.find(rows)
        bucket = np.flatnonzero(found & ~self._engine[rows.name] & ~self._is_of_parameter(rows))
        columns["module"][bucket] = sites.module(rows.stack[bucket], rows.node_thread[bucket] >= 0)
        own = np.flatnonzero(found & ((columns["frame"] < 0) | (rows.node_thread < 0)))
        called = sites.frame(rows.stack[own], np.zeros(len(own), np.bool_))
        columns["frame"][own] = called if self.frame < 0 else self.frame
        columns["phase"][own] = Phase.BACKWARD
        columns["no_line"][own] = NoLine.GRADIENT_REDUCTION

    def _is_of_parameter(self, rows: Operators) -> Mask:
        """A mask of the rows in ranges that copy one gradient. The reducer's other rows are of a bucket."""
        found = np.zeros(len(rows), np.bool_)
        for _, own in each_thread(rows.thread):
            named = own[self._named[rows.name[own]]]
            if len(named):
                around = np.searchsorted(rows.start_ns[named], rows.start_ns[own], side="right") - 1
                found[own] = (around >= 0) & (rows.end_ns[own] <= rows.end_ns[named[around]])
        return found

    def _after_nodes(self, rows: Operators, own: Rows, state: _Thread) -> Mask:
        """A mask of the rows after AccumulateGrad, and of the engine's row around it if there are any."""
        name, place = rows.name[own], np.arange(len(own))
        is_node = self._node[name] & (rows.scope[own] == BACKWARD_FUNCTION)
        is_engine = self._engine[name]
        node = np.maximum.accumulate(np.where(is_node, place, -1 if state.is_after else -2))
        engine = np.maximum.accumulate(np.where(is_engine, place, -2))
        is_after = (node > np.append(-2, engine[:-1])) & ~is_node
        inside = place - node - 1 + np.where(node < 0, state.rows, 0)  # rows since the node
        state.is_after = bool(node[-1] > engine[-1])
        state.rows = int(inside[-1]) + 1 if state.is_after else 0
        return np.asarray(is_after & (~is_engine | (inside > 0)))


def _construction(recording: Recording, stacks: Stacks, sites: Sites) -> int:
    made = [frames_in(recording, _DDP_FILE, name) for name in _DDP_INIT]
    inside = np.append(np.logical_or(*made), False)[stacks.frame]
    lines = distinct(np.append(sites.frame, np.int32(-1))[stacks.parent[inside]])
    return int(lines[0]) if len(lines) == 1 else -1
