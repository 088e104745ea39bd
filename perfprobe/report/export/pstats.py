"""Python functions as a profile of cProfile, for pstats, snakeviz, gprof2dot and similar tools.

The format and its order of figures are those of Lib/cProfile.py: see `read.pstats`. It knows functions by
file, first line and plain name: the figures of functions that share all three are summed. It cannot say "not
known", which is 0 there.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from perfprobe.models.left_out import how_to_see_functions
from perfprobe.report.export.exported import Exported
from perfprobe.report.export.flames import operator_text
from perfprobe.support.errors import InputError, UsageError
from perfprobe.support.units import duration
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, PythonCode
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

KINDS = (CallStructure,)

Key: TypeAlias = "tuple[str, int, str]"

C_FILE = "~"
MARSHAL_VERSION = 4  # every Python 3 reads it
_OPERATOR = ("name", "overload", "signature", "phase")
_NS = 1e-9  # as cProfile multiplies: the same floats


def exported(findings: Findings, times: str | None = None) -> Exported:
    """The profile, and notes about its figures.

    Args:
        times: "cprofile", "samples", or None for cProfile's where it counted to the end, else the samples'.

    Raises:
        InputError: no Python functions were recorded.
        UsageError: those times were not recorded.
    """
    trace, structure = findings.trace, findings.get(CallStructure)
    has_counts = structure is not None and len(structure.python.counted) > 0
    if structure is None or not (has_counts or structure.by_samples):
        remedy = how_to_see_functions(trace.recording)
        raise InputError("it has no times of Python functions", trace.recording.path, remedy)
    whole = has_counts and structure.counts_end_ns is None
    chosen = times or ("cprofile" if whole or not structure.by_samples else "samples")
    if not {"cprofile": has_counts, "samples": structure.by_samples}[chosen]:
        raise UsageError(f"it has no times by {chosen}", trace.recording.path, "leave --times out")
    profile = _Profile()
    (_add_counted if chosen == "cprofile" else _add_sampled)(profile, trace, structure)
    # In one piece, and now: what marshal marks as shared depends on what else is alive.
    return Exported(iter((profile.data(),)), list(_notes(trace, structure, chosen)))


class _Profile:
    """The dict that cProfile writes. Figures: calls, primitive calls, own and total time in ns."""

    def __init__(self) -> None:
        self._functions: dict[Key, list[int]] = {}
        self._callers: dict[Key, dict[Key, list[int]]] = {}

    def add(self, key: Key, *figures: int) -> None:
        """Add to a function's figures; -1 means not known and adds nothing."""
        _add(self._functions, key, figures)

    def add_call(self, caller: Key, callee: Key, *figures: int) -> None:
        """Add to the figures of a callee for calls by this caller. Both functions get an entry."""
        _add(self._callers.setdefault(callee, {}), caller, figures)

    def data(self) -> bytes:
        """The content of the file. Its size does not depend on how long the program ran."""
        stats = {
            key: (primitive, calls, self_ns * _NS, total_ns * _NS, self._of_callers(key))
            for key, (calls, primitive, self_ns, total_ns) in self._functions.items()
        }
        return marshal.dumps(stats, MARSHAL_VERSION)

    def _of_callers(self, key: Key) -> dict[Key, tuple[int, int, float, float]]:
        return {
            caller: (calls, primitive, self_ns * _NS, total_ns * _NS)
            for caller, (calls, primitive, self_ns, total_ns) in self._callers.get(key, {}).items()
        }


def _add(table: dict[Key, list[int]], key: Key, figures: tuple[int, ...]) -> None:
    sums = table.setdefault(key, [0] * len(figures))
    for place, figure in enumerate(figures):
        sums[place] += max(figure, 0)


def _add_counted(profile: _Profile, trace: Trace, structure: CallStructure) -> None:
    """Add what cProfile counted, unchanged."""
    keys = _keys(trace, structure.python)
    for code, *figures in _columns(structure.python.counted):
        profile.add(keys[code], *figures)
    for caller, callee, *figures in _columns(structure.python.counted_calls):
        if caller >= 0:
            profile.add_call(keys[caller], keys[callee], *figures)


def _add_sampled(profile: _Profile, trace: Trace, structure: CallStructure) -> None:
    """Add sampled times, and below each function the operators that ran in its own time."""
    python, rows = structure.python, structure.functions
    keys = _keys(trace, python)
    for code, *figures in _columns(rows, "code", "calls", "primitive_calls", "neither_ns", "total_ns"):
        profile.add(keys[code], *figures)
    for caller, callee, calls, primitive, *_ in _columns(python.counted_calls):
        if caller >= 0:
            profile.add_call(keys[caller], keys[callee], calls, primitive, 0, 0)
    for caller, callee, total_ns in _columns(structure.calls, "caller", "callee", "total_ns"):
        if caller >= 0 and total_ns >= 0:
            profile.add_call(keys[caller], keys[callee], 0, 0, 0, total_ns)
    _add_looks(profile, trace, structure, keys)


def _add_looks(profile: _Profile, trace: Trace, structure: CallStructure, keys: list[Key]) -> None:
    """Add own times by caller, and operators: their times by samples, their calls as recorded."""
    function, caller = _places(trace, structure.python)
    text = cache(partial(operator_text, trace))
    sampled, sites = structure.sampled, structure.sites
    shown = set()
    for stack, time_ns, name, *operator in _columns(sampled, "stack", "time_ns", *_OPERATOR):
        own = None if function[stack] < 0 else keys[function[stack]]
        if name >= 0:
            key = C_FILE, 0, text(name, *operator)
            shown.add(key)
            profile.add(key, 0, 0, time_ns, time_ns)
            if own is not None:
                profile.add_call(own, key, 0, 0, time_ns, time_ns)
        elif own is not None and caller[stack] >= 0:
            profile.add_call(keys[caller[stack]], own, 0, 0, time_ns, 0)
    for calls, *operator in _columns(sites, "calls", *_OPERATOR):
        key = C_FILE, 0, text(*operator)
        if key in shown:
            profile.add(key, calls, calls, 0, 0)


def _places(trace: Trace, python: PythonCode) -> tuple[list[int], list[int]]:
    """For every stack its innermost function and the caller of that; one more entry for no stack."""
    none = np.int32(-1)
    parent = trace.recording[Stacks].parent
    known = np.append(nearest(parent, python.of_stack[:-1] >= 0), none)
    above = known[np.append(parent, none)[known]]
    return python.of_stack[known].tolist(), python.of_stack[above].tolist()


def _keys(trace: Trace, python: PythonCode) -> list[Key]:
    """cProfile's key of each function: file, first line, and name without class or enclosing function."""
    strings = trace.recording[Strings]
    return [
        (C_FILE, 0, strings[function])
        if file < 0
        else (strings[file], first_line, strings[function].rpartition(".")[2])
        for file, function, first_line in _columns(python.code, "file", "function", "first_line")
    ]


def _columns(table: Table, *names: str) -> Iterator[tuple[int, ...]]:
    """The rows of a table, only these columns or all."""
    return zip(*(getattr(table, name).tolist() for name in names or table.dtypes), strict=True)


def _notes(trace: Trace, structure: CallStructure, chosen: str) -> Iterator[str]:
    counts, start_ns, end_ns = "cProfile's", trace.start_ns, structure.counts_end_ns
    if end_ns is not None:
        after = "" if start_ns is None else f" {duration(end_ns - start_ns)} after the start"
        how = f"it was stopped{after}"
        if trace.recording.counts_cut_ns is not None:
            how = f"they were last written{after} (the program was killed or left without ending)"
        counts += f" as far as it went: {how}"
    if chosen == "cprofile":
        yield f"times and calls are {counts}"
        if trace.recording.text("cprofile", "library_imports") == "not counted":
            yield "calls inside imports of libraries were not counted: their time counts for the caller"
        return
    yield "times are sampled, with operators below the functions that called them"
    if len(structure.python.counted):
        yield f"calls are {counts}; C functions have calls only: their time counts for the callers"
    else:
        yield "calls of Python functions were not counted: the format requires a number, so it is 0"
