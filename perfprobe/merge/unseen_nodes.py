"""Numbers of autograd nodes that operators may have made while they were not recorded.

Where recording stops, the last operator of a thread has a number, and where it goes on, the first one has
another. The nodes with the numbers between them, and perhaps that of the last operator, were made in
between, by operators that no row shows. If backward of such a node is recorded, in a later step, it has no
line: the operator with the next lower number is another one.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording

_NONE_YET, _NONE_LATER = -1, np.iinfo(np.int64).max


class Pauses:
    """When recording of operators went on: other threads may have ended some behind the stop before."""

    def __init__(self, recording: Recording) -> None:
        rows = recording[LiveSteps].counted()
        rows = rows.take(np.argsort(rows.start_ns, kind="stable"))
        is_last = np.append(rows.is_recorded[1:] > 0, True)[: len(rows)]
        self._ends_ns = rows.end_ns[(rows.is_recorded == 0) & is_last]

    def __len__(self) -> int:
        return len(self._ends_ns)

    def before(self, time_ns: Int64) -> Int64:
        """Returns how many had ended at each of these times."""
        return np.searchsorted(self._ends_ns, time_ns, "right").astype(np.int64)


class UnseenNodes:
    """The numbers of one forward thread around each pause."""

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses
        stretches = len(pauses) + 1
        self._last = np.full(stretches, _NONE_YET, np.int64)
        self._first = np.full(stretches, _NONE_LATER, np.int64)

    def add(self, sequence: Int64, start_ns: Int64) -> None:
        """Notes the numbers that operators had, and when these started."""
        stretch = self._pauses.before(start_ns)
        np.maximum.at(self._last, stretch, sequence)
        np.minimum.at(self._first, stretch, sequence)

    def among(self, number: Int64, call_ns: Int64, node_ns: Int64) -> Mask:
        """Returns which nodes may be of an operator that was not recorded.

        Args:
            number: of each node.
            call_ns: when the operator started that would have made it.
            node_ns: when the node ran in backward, for the last time.
        """
        last = np.maximum.accumulate(self._last)
        first = np.append(np.minimum.accumulate(self._first[::-1])[::-1], _NONE_LATER)
        pause = self._pauses.before(call_ns)  # the first one behind the call
        is_behind = self._pauses.before(node_ns) > pause
        return np.asarray(is_behind & (last[pause] <= number) & (number < first[pause + 1]))
