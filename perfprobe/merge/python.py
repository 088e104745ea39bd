"""Collects Python functions, each once, from all sources: cProfile, the sampler, and operators' stacks."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from perfprobe.merge.imports import import_stacks
from perfprobe.merge.user_lines import Folders
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, among, distinct
from perfprobe.tables.python import Calls, Code, Counted, CountedCalls, Functions, Origin, PythonCode, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings

# perfprobe's code around a program. Frames inside the launcher and outside the runner are not the program's.
_LAUNCHER = ("perfprobe/__main__.py", "perfprobe/cli/")
_RUNNER = "perfprobe/collect/runner.py"
_MOST_FRAMES = 4096  # frames searched for the launcher's, which are about ten
_RUNPY = ("<frozen runpy>", "/runpy.py")  # these run `-m`

_KINDS = ("<built-in method ", "<method ")  # prefixes of C functions' names
_FIGURES = ("calls", "primitive_calls", "own_ns", "total_ns")


class _Keys(NamedTuple):
    """The columns that distinguish functions."""

    file: Int32
    function: Int32
    first_line: Int32


def python_code(recording: Recording) -> PythonCode | None:
    """Returns the call structure that is known without the operators; None without any Python."""
    frames, counted = recording[Frames], recording[Functions]
    if len(recording[Stacks]) == 0 and len(counted) == 0 and len(recording[Samples]) == 0:
        return None
    keys, code_of = _numbered(
        _Keys(
            np.append(frames.file, counted.file),
            np.append(frames.function, counted.function),
            np.append(frames.first_line, counted.first_line),
        )
    )
    code = Code(*keys, _origins(recording, keys))
    of_frame, of_counted = np.split(code_of, [len(frames)])
    of_stack = _of_stack(recording, code, of_frame)
    return PythonCode(
        code=code,
        of_stack=of_stack,
        counted=_counted(recording, code, of_counted),
        counted_calls=_counted_calls(recording, code, of_counted),
        samples=recording[Samples],
        imports=import_stacks(recording, code, of_stack),
        packages=_packages(recording, code),
    )


def _numbered(keys: _Keys) -> tuple[_Keys, Int32]:
    """Returns the distinct keys, and for each row its index in them."""
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    number = np.empty(len(order), np.int32)
    number[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    return _Keys(*(key[first] for key in keys)), number


def _origins(recording: Recording, keys: _Keys) -> Int8:
    strings, rules = recording[Strings], Folders(recording)
    of_file = {file: rules.origin(strings[file]) for file in distinct(keys.file).tolist()}
    return np.array(
        [
            of_file[file] if file >= 0 else _origin_of_c(strings[function])
            for file, function in zip(keys.file.tolist(), keys.function.tolist(), strict=True)
        ],
        np.int8,
    )


def _packages(recording: Recording, code: Code) -> list[str]:
    strings, rules = recording[Strings], Folders(recording)
    of_file = {file: rules.package(strings[file]) for file in distinct(code.file).tolist() if file >= 0}
    return [of_file.get(file, "") for file in code.file.tolist()]


def _origin_of_c(name: str) -> Origin:
    """Returns the origin of a C function, from the module in cProfile's name for it or its type."""
    path = name.rpartition(" of ")[2] if name.startswith("<method ") else name
    for kind in _KINDS:
        path = path.removeprefix(kind)
    module, dot, _ = path.strip("'").partition(".")
    if module == "torch":
        return Origin.TORCH
    return Origin.STDLIB if not dot or module in sys.stdlib_module_names else Origin.LIBRARY


def _of_stack(recording: Recording, code: Code, of_frame: Int32) -> Int32:
    """Returns the function of each stack's innermost frame; -1 if it is not the program's."""
    none = np.int32(-1)
    of_stack = np.append(of_frame, none)[recording[Stacks].frame]
    origin = np.append(code.origin, np.int8(-1))[of_stack]
    left_out = (origin == Origin.PERFPROBE) | _around_program(recording, code, of_stack, origin)
    return np.append(np.where(left_out, none, of_stack), none).astype(np.int32)


def _around_program(recording: Recording, code: Code, of_stack: Int32, origin: Int8) -> Mask:
    """A mask of the launcher's stacks: outside of the program, and before it began."""
    parent = recording[Stacks].parent
    own = origin == Origin.PERFPROBE
    runner = own & _in_files(recording, code, (_RUNNER,))[of_stack]
    launcher = own & _in_files(recording, code, _LAUNCHER)[of_stack]
    found = nearest(parent, runner | launcher)
    before = np.append(launcher, False)[found] & (found >= 0)
    # `-m` in place of a script: runpy's frames are outside, as under plain python.
    runpy = _in_files(recording, code, _RUNPY)[of_stack]
    other = nearest(parent, ~runpy)
    runs_module = runpy & np.append(runner, False)[other]
    around: Mask = before | runs_module | _above(parent, np.flatnonzero(runner | launcher))
    return around


def _in_files(recording: Recording, code: Code, parts: tuple[str, ...]) -> Mask:
    """A mask of functions in files with one of these parts in the path. One more entry, False, for none."""
    files = distinct(code.file).tolist()
    chosen = [file for file in files if any(part in recording[Strings][file] for part in parts)]
    return np.append(among(code.file, chosen), False)


def _above(parent: Int32, rows: Rows) -> Mask:
    """A mask of the rows of a tree above these."""
    marked = np.zeros(len(parent), np.bool_)
    for _ in range(_MOST_FRAMES):
        if len(rows) == 0:
            break
        rows = distinct(parent[rows])
        rows = rows[rows >= 0]
        rows = rows[~marked[rows]]
        marked[rows] = True
    return marked


def _counted(recording: Recording, code: Code, of_counted: Int32) -> Counted:
    """Returns cProfile's figures of the program's functions, for all threads together."""
    kept = np.flatnonzero(code.origin[of_counted] != Origin.PERFPROBE)
    found, row_of = np.unique(of_counted[kept], return_inverse=True)
    figures = {name: getattr(recording[Functions], name)[kept] for name in _FIGURES}
    return Counted(code=found, **_sums(figures, row_of.reshape(-1), len(found)))


def _counted_calls(recording: Recording, code: Code, of_counted: Int32) -> CountedCalls:
    """Returns cProfile's calls. Calls by perfprobe's functions have no caller."""
    calls, none = recording[Calls], np.int32(-1)
    known = np.append(np.where(code.origin[of_counted] == Origin.PERFPROBE, none, of_counted), none)
    caller, callee = known[calls.caller], known[calls.callee]
    kept = np.flatnonzero(callee >= 0)
    pair = (caller[kept].astype(np.int64) << 32) | callee[kept]
    found, row_of = np.unique(pair, return_inverse=True)
    figures = {name: getattr(calls, name)[kept] for name in _FIGURES}
    return CountedCalls(
        caller=(found >> 32).astype(np.int32),
        callee=(found & 0xFFFFFFFF).astype(np.int32),
        **_sums(figures, row_of.reshape(-1), len(found)),
    )


def _sums(figures: dict[str, Int64], row_of: Rows, rows: int) -> dict[str, Int64]:
    sums = {name: np.zeros(rows, np.int64) for name in figures}
    for name, column in figures.items():
        np.add.at(sums[name], row_of, column)
    return sums
