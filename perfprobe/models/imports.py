"""Imports of libraries: what was imported, the code that imported it, and how long it took."""

from __future__ import annotations

import posixpath

from perfprobe.tables.imports import Import
from perfprobe.tables.python import CallStructure, Origin, PythonCode
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.steps import StartUp
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace

_SITE = ("/site-packages/", "/dist-packages/")
_MOST_PARTS = 2  # parts of a module's name that are shown: `torch._dynamo`
_TIMES = ("time_ns", "cpu_ns", "own_ns")
_INIT = ".__init__"
_LOCAL = "<locals>"  # in the names of functions made by functions, such as decorators


def imports(trace: Trace, structure: CallStructure) -> list[Import]:
    """The imports that samples show, most time first.

    Imports of a module that a function led to are a row for each line that called it. A module that lines of
    the program import themselves is one row, with the line that took longest.
    """
    rows: dict[tuple[str | None, str | None, Line | None], Import] = {}
    table = structure.imports
    columns = (table.importer, table.body, table.time_ns, table.cpu_ns, table.own_ns)
    for importer, body, *times_ns in zip(*(each.tolist() for each in columns), strict=True):
        module, by = imported(trace, structure.python, importer, body)
        frame = int(trace.sites.frame[importer])
        row = Import(module, by, trace.line(frame), *times_ns)
        key = (row.module, row.by, None if row.by is None else row.line)
        known = rows.get(key)
        if known is not None:
            sums_ns = {name: getattr(known, name) + getattr(row, name) for name in _TIMES}
            row = known._replace(**sums_ns)
        rows[key] = row
    return sorted(rows.values(), key=lambda row: -row.time_ns)


def imports_before(trace: Trace, start_up: StartUp) -> list[Import]:
    """The imports of start-up, most time first. Those of one module that one function led to are one row."""
    rows: dict[tuple[str | None, str | None], Import] = {}
    columns = (start_up.importer, start_up.body, start_up.frame, start_up.time_ns)
    for importer, body, frame, time_ns in zip(*(each.tolist() for each in columns), strict=True):
        if importer < 0 or trace.python is None:
            continue
        module, by = imported(trace, trace.python, importer, body)
        row = rows.get((module, by), Import(module, by, trace.line(frame), 0, -1, -1))
        rows[module, by] = row._replace(time_ns=row.time_ns + time_ns)
    return sorted(rows.values(), key=lambda row: -row.time_ns)


def imported(trace: Trace, python: PythonCode, importer: int, body: int) -> tuple[str | None, str | None]:
    """The name of the module that this stack imported, None if no sample shows it; and `asked_by`."""
    by = asked_by(trace, python, importer)
    return _module(trace.recording, body, whole=by is not None), by


def asked_by(trace: Trace, python: PythonCode, importer: int) -> str | None:
    """The function called by the program that led to the import; None if the program's own line imports."""
    stack = called_from_user(trace, python, importer)
    return None if stack is None else function_of(trace, stack).removesuffix(_INIT)


def function_of(trace: Trace, stack: int) -> str:
    """The name of the function that a stack ends in."""
    frame = trace.recording[Stacks].frame[stack]
    return trace.recording[Strings][trace.recording[Frames].function[frame]]


def called_from_user(trace: Trace, python: PythonCode, stack: int) -> int | None:
    """The part of this stack that ends with the function called by the program's own code.

    For a decorator's wrapper it is the wrapped function, if that is on the stack. None if the stack ends in
    the program's own code, or has no such code.
    """
    parent, code = trace.recording[Stacks].parent, python.of_stack
    below: list[int] = []
    while stack >= 0:
        if code[stack] >= 0 and python.code.origin[code[stack]] == Origin.USER:
            named = (called for called in reversed(below) if _LOCAL not in function_of(trace, called))
            return next(named, below[-1] if below else None)
        below.append(stack)
        stack = int(parent[stack])
    return None


def _module(recording: Recording, body: int, *, whole: bool) -> str | None:
    """The name of a file's module; without `whole` only its first parts."""
    if body < 0:
        return None
    file = recording[Strings][recording[Frames].file[recording[Stacks].frame[body]]]
    roots = [*recording.texts("roots", "site"), *recording.texts("roots", "stdlib")]
    inside = [file[len(root) + 1 :] for root in roots if file.startswith(f"{root}/")]
    inside += [file.rpartition(part)[2] for part in _SITE if part in file]
    name = min(inside, key=len, default=posixpath.basename(file))
    parts = name.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts[: _MOST_PARTS if whole else 1])
