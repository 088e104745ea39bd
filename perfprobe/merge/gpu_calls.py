"""The call of the API that started each kernel and copy, by the number that they have in common."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import ApiCalls, Copies, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")
_GRAPH_FAULT = "graph_ids"  # of CUPTI; see csrc/gpu/cupti_faults.h


class Launches:
    """Finds what started kernels and copies; a graph's kernels can only come from a launch of a graph.

    Where the recording's CUPTI has wrong numbers for launches of graphs, which it has from a process's second
    recording on, their numbers are not used. graph_launch: which calls launched a CUDA graph.
    """

    def __init__(self, recording: Recording) -> None:
        self.graph_launch: Mask = starts(recording, _GRAPH_LAUNCHES)[recording[ApiCalls].name]
        self._remedy = _graph_fault(recording)
        self._calls = Correlations(recording, None if self._remedy is None else ~self.graph_launch)
        self._graphs = Correlations(recording, self.graph_launch)
        self._unknown = 0  # of a graph, but the call is not known

    def call(self, rows: Kernels | Copies) -> Int32:
        """Row of `api_calls` for each row, -1 for none."""
        found, of_graph = self._calls(rows.correlation), rows.graph >= 0
        if not of_graph.any():
            return found
        if self._remedy is None:
            launch = self._graphs(rows.correlation)
            self._unknown += int(np.count_nonzero(of_graph & (found >= 0) & (launch < 0)))
        else:
            launch = np.full(len(rows), -1, np.int32)
            self._unknown += int(np.count_nonzero(of_graph))
        return np.where(of_graph, launch, found)

    def losses(self) -> tuple[Losses, ...]:
        """The rows that have no call because their number was not used."""
        if self._unknown == 0:
            return ()
        reason = (
            "kernels and copies of CUDA graphs without operator and line: CUPTI has wrong numbers for them"
        )
        return (Losses.one("gpu", reason, self._unknown, self._remedy or ""),)


class Correlations:
    """Finds calls by their correlation id."""

    def __init__(self, recording: Recording, among: Mask | None = None) -> None:
        """among: which calls can be found, None for all."""
        calls = recording[ApiCalls]
        is_driver = np.array([_is_of_driver(text) for text in recording[Strings].text] + [False], np.bool_)
        # Of a runtime call and the driver call within it, the runtime call comes first.
        order = np.lexsort((is_driver[calls.name], calls.correlation))
        self._order = order if among is None else order[among[order]]
        self._sorted = calls.correlation[self._order]

    def __call__(self, correlation: Int64) -> Int32:
        """The call that has each of these ids, -1 for none."""
        if len(self._sorted) == 0:
            return np.full(len(correlation), -1, np.int32)
        place = np.minimum(np.searchsorted(self._sorted, correlation), len(self._sorted) - 1)
        known = (correlation >= 0) & (self._sorted[place] == correlation)
        return np.where(known, self._order[place], -1).astype(np.int32)


def starts(recording: Recording, prefixes: tuple[str, ...]) -> Mask:
    """Which strings start with this, with one more entry, False, for none."""
    return np.array([*(text.startswith(prefixes) for text in recording[Strings].text), False], np.bool_)


def _graph_fault(recording: Recording) -> str | None:
    """The remedy for wrong numbers of graphs where the recording may have them, else None."""
    faults, session = recording.fact("gpu", "faults"), recording.number("gpu", "session")
    if not isinstance(faults, dict) or _GRAPH_FAULT not in faults or session is None or session < 2:
        return None
    return str(faults[_GRAPH_FAULT])


def _is_of_driver(name: str) -> bool:
    return name.startswith("cu") and name[2:3].isupper()
