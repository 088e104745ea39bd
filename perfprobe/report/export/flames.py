"""Time as paths: Python functions, root first, and the operator that was running as the leaf.

An operator that runs in backward stays where the time passed, below the Python that called backward; its
leaf names the line of the forward call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfprobe.models.left_out import how_to_see_functions
from perfprobe.report import shorten
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.tables.account import LEAF_TEXTS, LeafKind
from perfprobe.tables.columns import Int32, Int64, Rows
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, Look
from perfprobe.tables.spent import LoopSpent, RunSpent
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase, Trace

DEEPEST = 1024  # innermost frames of a stack that are read
MOST_FRAMES = 50_000_000  # in all paths together

_MARKED = (Phase.BACKWARD, Phase.RECOMPUTE, Phase.COMPILE)
_NOT_READ, _NOT_KEPT, _DEEPER = "(Python not read)", "(beyond the limit of stacks kept)", "(further out)"


class Frame(NamedTuple):
    """A function, or an operator with its user line. file and line: None if there is none."""

    name: str
    file: str | None = None
    line: int | None = None


class Steps(NamedTuple):
    """Time in ns on a thread (-1 if not known), each with the row of `Flames.rows` that has its path."""

    thread: Int32
    row: Rows
    time_ns: Int64


class Paths:
    """The path of each row as ids of frames; empty if the thread ran neither Python nor an operator.

    Rows share their functions, which are kept once: paths are put together as they are asked for.
    """

    def __init__(self) -> None:
        self._functions: list[tuple[int, ...]] = []
        self._operators: list[int] = []

    def add(self, functions: tuple[int, ...], operator: int) -> int:
        """Add the path of the next row, and return how many frames it has. operator: -1 for none."""
        self._functions.append(functions)
        self._operators.append(operator)
        return len(functions) + (operator >= 0)

    def __len__(self) -> int:
        return len(self._operators)

    def __getitem__(self, row: int) -> tuple[int, ...]:
        operator = self._operators[row]
        return (*self._functions[row], operator) if operator >= 0 else self._functions[row]

    def lengths(self) -> Int64:
        """Returns how many frames each row has."""
        functions = np.fromiter(map(len, self._functions), np.int64, len(self))
        return functions + (np.array(self._operators, np.int64) >= 0)


class Flames:
    """The paths of a recording.

    rows: what has a path.

    Raises:
        InputError: there are neither samples nor operators with stacks.
    """

    def __init__(self, findings: Findings) -> None:
        structure, spent = findings.get(CallStructure), findings.get(LoopSpent) or findings.get(RunSpent)
        if structure is None or spent is None or len(spent.rows) == 0:
            raise _no_stacks(findings.trace)
        self._trace, self._calling, self._spent = findings.trace, structure, spent
        self._of_stack = structure.python.of_stack.tolist()
        self._parent = self._trace.recording[Stacks].parent.tolist()
        self._frame_ids: dict[Frame, int] = {}
        self._functions: dict[int, tuple[int, ...]] = {}
        self.rows = spent.rows

    @property
    def frames(self) -> Sequence[Frame]:
        """The frames in the order of their ids, for the paths requested so far."""
        return list(self._frame_ids)

    def paths(self) -> Paths:
        """The path of each row. Afterwards `frames` is complete.

        Raises:
            InputError: they are too deep.
        """
        columns = ("stack", "look", "kind", "name", "overload", "signature", "phase", "hanging")
        found = Paths()
        left = MOST_FRAMES
        for stack, look, kind, name, *operator in zip(
            *(getattr(self.rows, name).tolist() for name in columns), strict=True
        ):
            functions = self._path(stack, look, kind)  # their ids come before the operator's
            left -= found.add(functions, self._id(self._operator(name, *operator)) if name >= 0 else -1)
            if left < 0:
                raise InputError("the stacks are too deep to be written out", self._trace.recording.path)
        return found

    def sum_up(self) -> Steps:
        """The time of each row, most time first."""
        order = np.argsort(-self.rows.time_ns, kind="stable")
        return Steps(self.rows.thread[order], order, self.rows.time_ns[order])

    def notes(self, without_ns: int = 0) -> list[str]:
        """Returns what a reader must know about the figures. without_ns: time without a path, left out."""
        found = []
        if self._spent.steps:
            whole, steps = units.duration(self._spent.whole_ns), units.count(self._spent.steps)
            found.append(f"{whole} of {steps} step{'' if steps == '1' else 's'} that count; --by run has all")
        elif not self._calling.by_samples:
            found.append("there are no samples: these are operators' own times")
        if self._spent.waiting_ns:
            waiting = units.duration(self._spent.waiting_ns)
            found.append(f"left out: {waiting} in which other threads only waited")
        if without_ns:
            without = units.duration(without_ns)
            found.append(f"left out: {without} in which threads ran no Python and no operator")
        return found

    def thread(self, thread: int) -> str:
        """The name to show for a thread."""
        if thread < 0:
            return "a thread"
        threads = self._trace.recording[Threads]
        return self._trace.recording[Strings][threads.name[thread]] or f"thread {threads.os_thread[thread]}"

    def _path(self, stack: int, look: int, kind: int) -> tuple[int, ...]:
        """The functions of a path. kind: what time without functions is, -1 if it may be left out."""
        if look == Look.FAILED:
            return (self._id(Frame(_NOT_READ)),)
        if stack >= 0 and stack not in self._functions:
            self._functions[stack] = self._walked(stack)
        found = self._functions[stack] if stack >= 0 else ()
        if found or kind < 0:
            return found
        return (self._id(Frame(f"({LEAF_TEXTS[LeafKind(kind)]})")),)

    def _walked(self, stack: int) -> tuple[int, ...]:
        if self._trace.recording[Stacks].frame[stack] < 0:
            return (self._id(Frame(_NOT_KEPT)),)
        path: list[int] = []
        for _ in range(DEEPEST):
            if stack < 0:
                break
            if self._of_stack[stack] >= 0:
                path.append(self._id(self._function(self._of_stack[stack])))
            stack = self._parent[stack]
        return tuple(reversed([*path, self._id(Frame(_DEEPER))] if stack >= 0 else path))

    def _function(self, code: int) -> Frame:
        table, strings = self._calling.python.code, self._trace.recording[Strings]
        name, file = strings[table.function[code]], strings[table.file[code]]
        return Frame(name, file or None, int(table.first_line[code]) if file else None)

    def _operator(self, name: int, overload: int, signature: int, phase: int, hanging: int) -> Frame:
        frames = self._trace.sites.frame
        line: Line | None = self._trace.line(int(frames[hanging])) if hanging >= 0 else None
        text = operator_text(self._trace, name, overload, signature, phase)
        return Frame(text, line and line.file, line and line.line)

    def _id(self, frame: Frame) -> int:
        return self._frame_ids.setdefault(frame, len(self._frame_ids))


def operator_text(trace: Trace, name: int, overload: int, signature: int, phase: int) -> str:
    """An operator with overload, inputs, and phase unless it is forward: `aten::mm f32[2,2] (backward)`."""
    strings = trace.recording[Strings]
    text = ".".join(filter(None, (strings[name], strings[overload])))
    text = " ".join(filter(None, (text, shorten.signature(trace.signature(signature) or ""))))
    return f"{text} ({Phase(phase).name.lower()})" if phase in _MARKED else text


def _no_stacks(trace: Trace) -> InputError:
    is_pstats = trace.recording.is_profile
    remedy = "use --format pstats" if is_pstats else how_to_see_functions(trace.recording)
    return InputError("it has no stacks with times", trace.recording.path, remedy)
