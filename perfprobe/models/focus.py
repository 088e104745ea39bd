"""Finds rows whose texts match a regular expression.

The texts are those of the JSON document. In tables of operators, the short names that narrow tables show for
operators and phases are searched too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfprobe.support.view import compiled
from perfprobe.tables.between import Intervals
from perfprobe.tables.columns import Int32, Mask, Table, distinct
from perfprobe.tables.critical import CriticalRows
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.findings import Sums
from perfprobe.tables.gpu import direction
from perfprobe.tables.gpu_findings import CopyRows, KernelRows, WaitRows
from perfprobe.tables.idle import IdleRows
from perfprobe.tables.launch_times import LaunchedRows
from perfprobe.tables.python import Code, FunctionCalls, FunctionRows
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.sequences import SequenceRows
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import SHORT_PHASES, Line, Phase, Trace, shown_name

_LINES = {"frame": "line", "forward_frame": "line", "phase": "phase"}
_OPERATORS = {"name": "operator", "signature": "signature", "module": "module", **_LINES}
_ON_GPU = {"operator": "string", **_LINES}
# For each kind of rows the columns to search, and the kind of text that their ids refer to.
SOUGHT: Mapping[type[Table], Mapping[str, str]] = {
    LinkedOperators: _OPERATORS,
    Sums: _OPERATORS,
    KernelRows: {**_ON_GPU, "name": "string", "signature": "signature", "module": "module"},
    CopyRows: {**_ON_GPU, "kind": "direction"},
    WaitRows: {**_ON_GPU, "call": "string"},
    IdleRows: {**_ON_GPU, "call": "string"},
    LaunchedRows: _ON_GPU,
    SequenceRows: {**_LINES, "module": "module"},
    CriticalRows: {**_ON_GPU, "name": "string"},
    FunctionRows: {"code": "function"},
    FunctionCalls: {"caller": "function", "callee": "function"},
    Intervals: {"frame": "line", "to_frame": "line", "caller": "line"},
    RangeRows: {"name": "string", "domain": "string"},
}
_COPY_KINDS = 1 << 8  # the number of values of the column's type

_NOT_YET = -1
_Search: TypeAlias = Callable[[str], object]


class Focus:
    """Finds rows of a trace by their texts. Each text is searched once, when a row first refers to it.

    Args:
        code: the table that ids of functions refer to.

    Raises:
        UsageError: the pattern is not valid.
    """

    def __init__(self, trace: Trace, pattern: str, code: Code | None = None) -> None:
        self._search = search = compiled(pattern).search
        self._strings = strings = trace.recording[Strings]
        code = Code.empty() if code is None else code
        signatures, frames = trace.recording[Signatures], trace.recording[Frames]
        self._texts = {
            "string": _Matches(search, len(strings), lambda at: [strings[at]]),
            "signature": _Matches(search, len(signatures), lambda at: [trace.signature(at) or ""]),
            "line": _Matches(search, len(frames), lambda at: [_place(trace.line(at))]),
            "module": _Matches(search, len(trace.module_texts), lambda at: [trace.module(at) or ""]),
            "phase": _Matches(search, len(Phase), _phase),
            "function": _Matches(search, len(code), lambda at: [_function(strings, code, at)]),
            "direction": _Matches(search, _COPY_KINDS, lambda at: [direction(at)], none=[direction(-1)]),
        }
        self._operators: dict[tuple[int, int], bool] = {}

    def matching(self, rows: Table) -> Mask:
        """A mask of the rows that match. rows: a table that is in `SOUGHT`."""
        columns = rows.columns()
        found = np.zeros(len(rows), np.bool_)
        for name, text in SOUGHT[type(rows)].items():
            if text == "operator":
                found |= self._of_operators(columns[name], columns["overload"])
            else:
                found |= self._texts[text].of(columns[name])
        return found

    def _of_operators(self, name: Int32, overload: Int32) -> Mask:
        pairs, place = np.unique((name.astype(np.int64) << 32) + overload, return_inverse=True)
        overloads = pairs.astype(np.int32)  # the lower half, with its sign
        names = (pairs - overloads) >> 32
        found = [self._is_meant(pair) for pair in zip(names.tolist(), overloads.tolist(), strict=True)]
        return np.asarray(np.array(found, np.bool_)[place.reshape(-1)])

    def _is_meant(self, pair: tuple[int, int]) -> bool:
        if pair not in self._operators:
            name, overload = (self._strings[at] for at in pair)
            names = (name, shown_name(name, narrow=True))
            texts = (f"{text}.{overload}" if overload else text for text in names)
            self._operators[pair] = any(self._search(text) for text in texts)
        return self._operators[pair]


class _Matches:
    """Finds the ids whose texts match.

    Args:
        ids: the number of ids.
        texts: returns the texts of an id.
        none: the texts of the id -1.
    """

    def __init__(
        self, search: _Search, ids: int, texts: Callable[[int], Iterable[str]], none: Iterable[str] = ()
    ) -> None:
        self._search, self._texts, self._none = search, texts, none
        self._found = np.full(ids + 1, _NOT_YET, np.int8)

    def of(self, ids: npt.NDArray[Any]) -> Mask:
        """A mask of the ids that match."""
        found = self._found[ids]
        if bool((found == _NOT_YET).any()):
            for at in distinct(ids[found == _NOT_YET]).tolist():
                texts = self._texts(at) if at != -1 else self._none
                self._found[at] = any(self._search(text) for text in texts)
            found = self._found[ids]
        return np.asarray(found == 1)


def _phase(at: int) -> Iterable[str]:
    return Phase(at).name.lower(), SHORT_PHASES[Phase(at)]


def _place(line: Line | None) -> str:
    return "" if line is None else f"{line.file}:{line.line} in {line.function}"


def _function(strings: Strings, code: Code, at: int) -> str:
    """Returns the text of a function; only the name for a C function."""
    file, name = int(code.file[at]), strings[code.function[at]]
    return f"{strings[file]}:{int(code.first_line[at])} in {name}" if file >= 0 else name
