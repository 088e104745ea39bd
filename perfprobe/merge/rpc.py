"""Labels what torch's RPC does in backward: a call waits for other processes, and nodes pass on gradients.

The call of `dist_autograd.backward` is an operator around work of other threads and processes. It becomes a
range, because the engine's call of backward in one process is no operator either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.events import Operators
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase

_BACKWARD = "torch::distributed::autograd::backward"
_NODES = ("torch::distributed::autograd::RecvRpcBackward", "torch::distributed::autograd::SendRpcBackward")


class RpcBackward:
    """Corrects columns of RPC's rows."""

    def __init__(self, recording: Recording) -> None:
        names = recording[Strings]
        self._call = names.marks(lambda name: name == _BACKWARD)
        self._nodes = names.marks(lambda name: name.endswith(_NODES))

    def label(self, rows: Operators, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Sets scope and phase of the call, and why the nodes have no line: no operator here made them."""
        is_call = self._call[rows.name]
        columns["scope"] = np.where(is_call, np.int8(USER_SCOPE), rows.scope)
        columns["phase"][is_call] = Phase.BACKWARD
        without = self._nodes[rows.name] & (columns["no_line"] == NoLine.FORWARD_NOT_RECORDED)
        columns["no_line"][without] = NoLine.RPC
