"""Which operators are torch.compile's own work: it runs the program on tensors without data to trace it.

So are the trial runs of Triton's kernels, inductor's and the user's, from which the fastest is chosen.

Such an operator (`PythonDispatchMode` among them: torch's name for one that Python code handles) says how
long tracing took, not what the program computes.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Mask, among, distinct
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings

# Beginnings of the names that the collector gives to kernels and to calls of CUDA outside of operators.
OWN_PREFIXES = ("inductor::", "triton::", "cuda::")

# Frames within which torch.compile compiles; compiled code runs outside of them. Backward graphs are
# compiled when they first run, outside of dynamo's, and so are kernels tuned.
_COMPILERS = (
    ("torch/_dynamo/convert_frame.py", ("",)),
    ("torch/_inductor/compile_fx.py", ("compile_fx",)),
    (
        "torch/_inductor/runtime/triton_heuristics.py",
        ("bench", "autotune_to_one_config", "coordinate_descent_tuning", "_combo_sequential_autotune"),
    ),
    ("triton/runtime/autotuner.py", ("_bench",)),
    ("triton/runtime/jit.py", ("warmup",)),
)


def compiling(recording: Recording) -> Mask:
    """For every stack whether torch.compile was at work, with one more entry, False, for no stack."""
    strings, frames, stacks = recording[Strings], recording[Frames], recording[Stacks]
    marked = np.zeros(len(frames) + 1, np.bool_)
    for file_end, functions in _COMPILERS:
        files = [file for file in distinct(frames.file).tolist() if strings[file].endswith(file_end)]
        for frame in np.flatnonzero(among(frames.file, files)).tolist():
            # As written, or within their class, as Python 3.11 and newer name it.
            _, _, method = strings[frames.function[frame]].partition(".")
            marked[frame] |= strings[frames.function[frame]].startswith(functions)
            marked[frame] |= method.startswith(functions)
    return np.append(nearest(stacks.parent, marked[stacks.frame]) >= 0, False)
