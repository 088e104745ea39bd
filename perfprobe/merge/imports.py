"""Finds imports of libraries: which stacks belong to one, what imported it, and which module's code runs.

An import is the outermost call of importlib below which no file of the user runs. A library that the program
imports brings others with it. The user's own modules are the program.
"""

from __future__ import annotations

import numpy as np

from perfprobe.merge.user_lines import frames_in
from perfprobe.tables.columns import Int32
from perfprobe.tables.python import Code, ImportStacks, Origin
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Stacks, nearest

_IMPORTLIB = (
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
    "importlib/_bootstrap.py",  # in a Python built without frozen modules
    "importlib/_bootstrap_external.py",
)
_BODY = "<module>"


def import_stacks(recording: Recording, code: Code, of_stack: Int32) -> ImportStacks:
    """Returns the import that each stack belongs to. code, of_stack: as in `PythonCode`."""
    stacks = recording[Stacks]
    importer, body = (np.full(len(stacks) + 1, -1, np.int32) for _ in range(2))
    in_importlib = np.append(frames_in(recording, _IMPORTLIB), False)[stacks.frame]
    is_body = np.append(frames_in(recording, "", _BODY), False)[stacks.frame]
    is_user = np.append(code.origin == Origin.USER, False)[of_stack]
    below = np.flatnonzero(nearest(stacks.parent, in_importlib) >= 0)
    for stack, parent in zip(below.tolist(), stacks.parent[below].tolist(), strict=True):
        if body[parent] < 0 and is_body[stack] and is_user[stack]:
            continue  # the user's own module is part of the program
        importer[stack], body[stack] = importer[parent], body[parent]
        if importer[stack] < 0 and in_importlib[stack]:
            importer[stack] = parent
        elif importer[stack] >= 0 and body[stack] < 0 and is_body[stack]:
            body[stack] = stack
    return ImportStacks(importer, _completed(importer, body))


def _completed(importer: Int32, body: Int32) -> Int32:
    """Assigns stacks of the search for a module to the module that their importer then ran."""
    ran = body >= 0
    of_importer = np.full(len(importer) + 1, -1, np.int32)
    of_importer[importer[ran][::-1]] = body[ran][::-1]
    return np.where(ran, body, of_importer[importer])
