"""Finds the operators of torch.compile's own work: it runs the program on tensors without data to trace it.

Trial runs of Triton kernels, inductor's and the user's, from which the fastest is chosen, belong to it too.
Such operators say how long tracing took, not what the program computes. `PythonDispatchMode` is among them:
torch's name for an operator that Python code handles.
"""

from __future__ import annotations

import numpy as np

from perfprobe.support.first_line import bare
from perfprobe.tables.columns import Mask, among, distinct
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings

_IMPORTED = "<module>"  # optimizers import torch._dynamo: that compiles nothing
# Prefixes of names that the collector gives to kernels and to calls of CUDA outside of operators.
OWN_PREFIXES = ("inductor::", "triton::", "cuda::")

# Frames within which torch.compile compiles; compiled code runs outside of them. Backward graphs are compiled
# when they first run, outside of dynamo's frames, and kernels are tuned there too.
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
    """A mask of the stacks in which torch.compile was at work, with one more entry, False, for no stack."""
    strings, frames, stacks = recording[Strings], recording[Frames], recording[Stacks]
    marked = np.zeros(len(frames) + 1, np.bool_)
    for file_end, functions in _COMPILERS:
        files = [file for file in distinct(frames.file).tolist() if strings[file].endswith(file_end)]
        for frame in np.flatnonzero(among(frames.file, files)).tolist():
            # The function's name, or its name within its class: Python 3.11 and newer have the qualified
            # name.
            name = strings[frames.function[frame]]
            _, _, method = name.partition(".")
            is_compiler = name.startswith(functions) or method.startswith(functions)
            marked[frame] = is_compiler and bare(name) != _IMPORTED
    return np.append(nearest(stacks.parent, marked[stacks.frame]) >= 0, False)
