"""Operator time by the innermost line within installed packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import group_in_runs, measured_sums
from perfprobe.analyse.lines import lines
from perfprobe.models.focus import Focus
from perfprobe.tables.columns import Int32, Mask, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import HotLines, LibraryLines, Sums
from perfprobe.tables.python import Origin, PythonCode
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace

MOST_ROWS = 262_144  # rows that are kept before equal ones are merged

_KEYS = ("frame", "name", "overload", "signature", "phase")
_IN_BACKWARD = (Phase.BACKWARD, Phase.RECOMPUTE)


class LinesOfLibraries:
    """Takes the operators of a trace batch by batch.

    Args:
        package: names of packages separated by commas; None for those that define the modules called.
        focus: a regular expression. Operators that do not match it are left out.
    """

    def __init__(self, trace: Trace, package: str | None, focus: str | None) -> None:
        self._trace = trace
        self._is_given = package is not None
        names = model_packages(trace) if package is None else package.split(",")
        self._packages = tuple(name for name in names if name)
        self._focus = None if focus is None else Focus(trace, focus)
        self._innermost_frames = _innermost_frames(trace, self._packages)
        self._parts: list[Sums] = []
        self._gathered = 0

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it; equal signature texts have one id."""
        if self._innermost_frames is None:
            return
        in_backward = np.isin(batch.phase, _IN_BACKWARD)
        frame = self._innermost_frames.frame(batch.stack, batch.forward_stack, in_backward)
        chosen = (frame >= 0) & (batch.scope != USER_SCOPE)
        if self._focus is not None:
            chosen &= self._focus.matching(batch)
        if not bool(chosen.any()):
            return
        columns: dict[str, npt.NDArray[Any]] = {name: getattr(batch, name)[chosen] for name in _KEYS[1:]}
        columns |= {"frame": frame[chosen], "calls": np.ones(int(chosen.sum()), np.int64)}
        columns |= {name: getattr(batch, name)[chosen] for name in ("self_ns", "gpu_self_ns")}
        self._parts.append(_add_up(Sums.part(columns)))
        self._gathered += len(self._parts[-1])
        if self._gathered > MOST_ROWS:
            self._parts = [_add_up(Sums.concat(self._parts))]
            self._gathered = len(self._parts[0])

    def result(self) -> LibraryLines:
        """Time of all operators so far that have a line in these packages, by that line."""
        found = HotLines.empty()
        if self._parts:
            rows = Sums.concat(self._parts)
            no_line = np.full(len(rows), NoLine.NONE, np.int8)
            rows = Sums.part({**rows.columns(), "no_line": no_line})
            # Self time stands for typical time, because the durations of single calls are not kept here.
            found = lines(self._trace, rows, rows.self_ns)
        return LibraryLines(found, self._packages, self._is_given)


class _InnermostFrames:
    """The innermost frame of each stack in marked functions; and the same only inside backward's call."""

    def __init__(self, trace: Trace, marked: Mask) -> None:
        stacks = trace.recording[Stacks]
        found = nearest(stacks.parent, marked)
        # An inner stack has a larger id, so this keeps stacks inside the call of the autograd engine.
        inside = np.where(found > trace.sites.engine, found, np.int32(-1))
        frame, none = np.append(stacks.frame, np.int32(-1)), np.int32(-1)
        self._frame = np.append(frame[found], none)
        self._inside = np.append(frame[inside], none)

    def frame(self, stack: Int32, forward_stack: Int32, in_backward: Mask) -> Int32:
        """The frame to show for each operator, by the rule for user lines.

        In backward it is the frame of Python code that ran there, otherwise that of the forward call.
        """
        own: Int32 = np.where(in_backward, self._inside[stack], self._frame[stack])
        return np.where((own < 0) & in_backward, self._frame[forward_stack], own)


def _innermost_frames(trace: Trace, packages: tuple[str, ...]) -> _InnermostFrames | None:
    """The frames in these packages; None if no code of them is on any stack."""
    python = trace.python
    if python is None or not set(packages) & set(python.packages):
        return None
    of_code = np.isin(np.array(python.packages), packages)
    return _InnermostFrames(trace, np.append(of_code, False)[python.of_stack[:-1]])


def model_packages(trace: Trace) -> list[str]:
    """The packages, other than torch, that define the `forward` of modules that were called."""
    python, recording = trace.python, trace.recording
    if python is None:
        return []
    is_forward = _is_forward(python, recording[Strings]) & (python.code.origin == Origin.LIBRARY)
    called = np.append(is_forward, False)[python.of_stack[:-1]] & (recording[Stacks].module >= 0)
    code = distinct(python.of_stack[:-1][called]).tolist()
    return sorted({python.packages[at] for at in code} - {""})


def _is_forward(python: PythonCode, strings: Strings) -> Mask:
    names = (strings[function] for function in python.code.function.tolist())
    return np.array([name.rpartition(".")[2] == "forward" for name in names], np.bool_)


def _add_up(rows: Sums) -> Sums:
    order, first = group_in_runs([getattr(rows, name) for name in _KEYS])
    keys = {name: getattr(rows, name)[order[first]] for name in _KEYS}
    sums = {name: np.add.reduceat(getattr(rows, name)[order], first) for name in ("calls", "self_ns")}
    return Sums.part({**keys, **sums, "gpu_self_ns": measured_sums(rows.gpu_self_ns, order, first)})
