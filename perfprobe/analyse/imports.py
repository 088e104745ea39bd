"""Imports of libraries: which stacks are part of one, who asked for it, and which module's code it runs.

An import is the outermost stay in importlib below which no file of the user's runs: a library that the
program imports takes others along, while the user's own modules are the program.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sums_by
from perfprobe.tables.columns import Int32, Mask, distinct
from perfprobe.tables.python import Imports, ImportStacks, Look, Origin, PythonCode, SampledStacks
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_IMPORTLIB = (
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
    "importlib/_bootstrap.py",  # as a Python built without frozen modules has them
    "importlib/_bootstrap_external.py",
)
_BODY = "<module>"


def import_stacks(trace: Trace, python: PythonCode) -> ImportStacks:
    """What each stack is part of."""
    stacks = trace.recording[Stacks]
    importer, body = (np.full(len(stacks) + 1, -1, np.int32) for _ in range(2))
    in_importlib, is_body = _frames(trace)
    is_user = _is_user(python)
    below = np.flatnonzero(nearest(stacks.parent, in_importlib) >= 0)
    for stack, parent in zip(below.tolist(), stacks.parent[below].tolist(), strict=True):
        if body[parent] < 0 and is_body[stack] and is_user[stack]:
            continue  # the user's own module: what it does is the program
        importer[stack], body[stack] = importer[parent], body[parent]
        if importer[stack] < 0 and in_importlib[stack]:
            importer[stack] = parent
        elif importer[stack] >= 0 and body[stack] < 0 and is_body[stack]:
            body[stack] = stack
    return ImportStacks(importer, _completed(importer, body))


def imports(sampled: SampledStacks, stacks: ImportStacks) -> Imports:
    """The imports by what asked for them and what they ran, most time first; operators in them count too."""
    rows = sampled.take((sampled.look == Look.READ) & (stacks.importer[sampled.stack] >= 0))
    keys = np.stack([stacks.importer[rows.stack], stacks.body[rows.stack]])
    (importer, body), number = np.unique(keys, axis=1, return_inverse=True)
    times_ns = (rows.time_ns, np.maximum(rows.cpu_ns, 0))
    found = Imports(importer, body, *(sums_by(number.reshape(-1), each, len(importer)) for each in times_ns))
    return found.take(np.argsort(-found.time_ns, kind="stable"))


def _completed(importer: Int32, body: Int32) -> Int32:
    """The same with the module found for those that only looked for it so far: what their importer ran."""
    ran = body >= 0
    of_importer = np.full(len(importer) + 1, -1, np.int32)
    of_importer[importer[ran][::-1]] = body[ran][::-1]
    return np.where(ran, body, of_importer[importer])


def _frames(trace: Trace) -> tuple[Mask, Mask]:
    """Which stacks end in importlib's own code, and which in the code of a module."""
    frames, strings = trace.recording[Frames], trace.recording[Strings]
    files = [file for file in distinct(frames.file).tolist() if strings[file].endswith(_IMPORTLIB)]
    bodies = [name for name in distinct(frames.function).tolist() if strings[name] == _BODY]
    frame = trace.recording[Stacks].frame
    in_importlib = np.append(np.isin(frames.file, files), False)[frame]
    return in_importlib, np.append(np.isin(frames.function, bodies), False)[frame]


def _is_user(python: PythonCode) -> Mask:
    """Which stacks end in the user's code."""
    return np.append(python.code.origin == Origin.USER, False)[python.of_stack]
