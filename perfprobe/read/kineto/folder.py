"""Finds the traces in a TensorBoard log folder, usually one for each rank."""

from __future__ import annotations

import os

from perfprobe.support.errors import InputError

ENDS = (".pt.trace.json", ".json.gz")  # of tensorboard_trace_handler, and of others
MOST_FILES = 4096


def traces_in(folder: str) -> list[str]:
    """Returns the traces in this folder and its subfolders, sorted by name.

    Raises InputError if there are none.
    """
    found: list[str] = []
    for path, below, files in os.walk(folder):
        below.sort()
        found += [os.path.join(path, file) for file in sorted(files) if file.endswith(ENDS)]
        if len(found) > MOST_FILES:
            break
    if not found:
        remedy = "name a trace, or the folder of tensorboard_trace_handler"
        raise InputError("cannot read the recording: the folder has no traces (*.json.gz)", folder, remedy)
    return found[:MOST_FILES]
