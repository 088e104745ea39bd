"""Finds the API call that started each kernel and copy, by their correlation id."""

from __future__ import annotations

import numpy as np

from perfprobe.models.device_calls import GRAPH_LAUNCH
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import ApiCalls, Copies, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_GRAPH_FAULT = "graph_ids"  # the name of a fault of CUPTI; see csrc/gpu/cupti_faults.h


class Launches:
    """Finds what started kernels and copies. A graph's kernels can only come from a launch of a graph.

    From a process's second recording on, some versions of CUPTI have wrong ids for launches of graphs. These
    ids are not used.

    Attributes:
        graph_launch: a mask of the calls that launched a CUDA graph.
    """

    def __init__(self, recording: Recording) -> None:
        self.graph_launch: Mask = starts(recording, GRAPH_LAUNCH)[recording[ApiCalls].name]
        self._remedy = _graph_fault(recording)
        self._calls = Correlations(recording, None if self._remedy is None else ~self.graph_launch)
        self._graphs = Correlations(recording, self.graph_launch)
        self._unknown = 0  # rows of graphs whose call is not known

    def call(self, rows: Kernels | Copies) -> Int32:
        """Returns the row of `api_calls` for each row; -1 if none."""
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
        """Returns the loss of rows that have no call because their id was not used."""
        if self._unknown == 0:
            return ()
        reason = (
            "kernels and copies of CUDA graphs without operator and line: CUPTI has wrong numbers for them"
        )
        return (Losses.one("gpu", reason, self._unknown, self._remedy or ""),)


class Correlations:
    """Finds calls by their correlation id."""

    def __init__(self, recording: Recording, among: Mask | None = None) -> None:
        """among: a mask of the calls that can be found; None for all."""
        calls = recording[ApiCalls]
        is_driver = np.array([is_of_driver(text) for text in recording[Strings].text] + [False], np.bool_)
        # A runtime call precedes the driver call within it.
        order = np.lexsort((is_driver[calls.name], calls.correlation))
        self._order = order if among is None else order[among[order]]
        self._sorted = calls.correlation[self._order]

    def __call__(self, correlation: Int64) -> Int32:
        """Returns the call with each of these ids; -1 if none."""
        if len(self._sorted) == 0:
            return np.full(len(correlation), -1, np.int32)
        place = np.minimum(np.searchsorted(self._sorted, correlation), len(self._sorted) - 1)
        known = (correlation >= 0) & (self._sorted[place] == correlation)
        return np.where(known, self._order[place], -1).astype(np.int32)


def starts(recording: Recording, prefixes: tuple[str, ...]) -> Mask:
    """A mask of the strings that start with one of these, with one more entry, False, for none."""
    return np.array([*(text.startswith(prefixes) for text in recording[Strings].text), False], np.bool_)


def _graph_fault(recording: Recording) -> str | None:
    """Returns the remedy for wrong ids of graphs if the recording may have them, else None."""
    faults, session = recording.fact("gpu", "faults"), recording.number("gpu", "session")
    if not isinstance(faults, dict) or _GRAPH_FAULT not in faults or session is None or session < 2:
        return None
    return str(faults[_GRAPH_FAULT])


def is_of_driver(name: str) -> bool:
    """Whether this is a function of CUDA's driver, not of its runtime."""
    return name.startswith("cu") and name[2:3].isupper()
