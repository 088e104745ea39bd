"""A TensorBoard log folder: the traces in it, those of each rank."""

from __future__ import annotations

import os

from perfprobe.support.errors import InputError

ENDS = (".pt.trace.json", ".json.gz")  # as tensorboard_trace_handler names them, and others do
MOST_FILES = 4096


def traces_in(folder: str) -> list[str]:
    """The traces in this folder and in those below, in the order of their names.

    Raises InputError where there are none.
    """
    found: list[str] = []
    for path, below, files in os.walk(folder):
        below.sort()
        found += [os.path.join(path, file) for file in sorted(files) if file.endswith(ENDS)]
        if len(found) > MOST_FILES:
            break
    if not found:
        remedy = "name a trace, or the folder of tensorboard_trace_handler"
        raise InputError("cannot read the recording: a folder without traces (*.json.gz)", folder, remedy)
    return found[:MOST_FILES]
