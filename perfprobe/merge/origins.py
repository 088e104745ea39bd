"""Line, module and phase of operators: from their stacks, in backward from their node's forward call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.merge.backward import ForwardCalls, first_known
from perfprobe.models.nodes import FIRST_MODULE
from perfprobe.tables.columns import Int8, Int32, Int64, Mask
from perfprobe.tables.events import Operators
from perfprobe.tables.trace import NoLine, Phase, Sites


class Origins:
    """Finds line, module and phase for any rows of operators."""

    def __init__(self, sites: Sites, calls: ForwardCalls, same_module: Int32) -> None:
        """same_module: for each module the first one with the same path."""
        self._calls = calls
        self._same_module = np.append(same_module, np.int32(-1))
        self.compiling = np.append(sites.is_compile, False)

    def columns(self, rows: Operators, is_forward: Mask) -> dict[str, npt.NDArray[Any]]:
        """Returns signature, frames, forward_stack, module, phase and no_line of `LinkedOperators`.

        Args:
            is_forward: a mask of rows in a forward call, from `ForwardCalls`.
        """
        in_backward = rows.node_thread >= 0
        backward = np.flatnonzero(in_backward)
        frame = self._calls.sites.frame(rows.stack, in_backward)
        module = self._calls.sites.module(rows.stack, in_backward)
        forward_frame = np.full(len(rows), -1, np.int32)
        forward_stack = np.full(len(rows), -1, np.int32)
        is_optimizer = self._calls.sites.is_optimizer(rows.stack)
        phase = np.where(is_optimizer, Phase.OPTIMIZER, Phase.OTHER)
        phase[(module >= 0) | is_forward] = Phase.FORWARD
        phase[self._calls.sites.is_data(rows.stack)] = Phase.DATA
        no_line = np.where(rows.stack < 0, NoLine.NO_PYTHON, NoLine.OTHER_STACKS)
        if len(backward):
            node_thread, node_sequence = rows.node_thread[backward], rows.node_sequence[backward]
            forward = self._calls.lines_of(node_thread, node_sequence)
            forward_frame[backward], forward_stack[backward] = forward.frame, forward.stack
            frame[backward] = first_known(frame[backward], forward.frame)
            module[backward] = first_known(module[backward], forward.module)
            module[backward] = first_known(module[backward], self._holder(node_sequence))
            recompute = self._calls.sites.is_recompute(rows.stack[backward])
            phase[backward] = np.where(recompute, Phase.RECOMPUTE, Phase.BACKWARD)
            no_line[backward] = _backward_no_lines(node_thread, node_sequence, forward.no_line)
        compiling = self.compiling[rows.stack]
        phase[compiling] = Phase.COMPILE
        return {
            # Traced operators have no data, so they are one row for each name and line.
            "signature": np.where(compiling, np.int32(-1), rows.signature),
            "frame": frame,
            "forward_frame": forward_frame,
            "forward_stack": forward_stack,
            "module": module,
            "phase": phase.astype(np.int8),
            "no_line": np.where(frame >= 0, NoLine.NONE, no_line).astype(np.int8),
        }

    def _holder(self, node_sequence: Int64) -> Int32:
        """Returns the module with the parameter to whose gradient each node adds; -1 if none or not known."""
        module, none = FIRST_MODULE - node_sequence, len(self._same_module) - 1
        is_known = (node_sequence <= FIRST_MODULE) & (module < none)
        return self._same_module[np.where(is_known, module, none)]


def _backward_no_lines(node_thread: Int32, node_sequence: Int64, forward_no_line: Int8) -> Int8:
    no_line = forward_no_line.copy()
    no_line[node_sequence < 0] = NoLine.NODE_WITHOUT_FORWARD
    no_line[node_thread == 0] = NoLine.NODE_UNKNOWN
    return no_line
