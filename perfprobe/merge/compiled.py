"""Which operators are torch.compile's own work: it runs the program on tensors without data to trace it.

Such an operator (`PythonDispatchMode` among them: torch's name for one that Python code handles) says how
long tracing took, not what the program computes.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Mask
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import nearest

KERNEL_PREFIX = "inductor::"  # of the names that the collector gives to generated kernels

# Frames below which torch.compile compiles; what it compiled runs outside of them. Backward graphs are
# compiled when they first run, outside of dynamo's.
_COMPILERS = (
    ("torch/_dynamo/convert_frame.py", ""),
    ("torch/_inductor/compile_fx.py", "compile_fx"),
)


def compiling(recording: Recording) -> Mask:
    """For every stack whether torch.compile was at work, with one more entry, False, for no stack."""
    strings, frames, stacks = recording.strings, recording.frames, recording.stacks
    marked = np.zeros(len(frames) + 1, np.bool_)
    for file_end, function in _COMPILERS:
        files = [file for file in np.unique(frames.file).tolist() if strings[file].endswith(file_end)]
        for frame in np.flatnonzero(np.isin(frames.file, files)).tolist():
            marked[frame] |= strings[frames.function[frame]].startswith(function)
    return np.append(nearest(stacks.parent, marked[stacks.frame]) >= 0, False)
