"""Variables that make the programs of tests start sooner: those that import torch, but do not compile."""

from __future__ import annotations

from pathlib import Path

# A sitecustomize.py leaves out of torch what only compilers and the device `meta` use. Operators for tensors
# without data, with their decompositions, are a quarter of the time to import torch, 0.4 s of CPU time. The
# first step of an optimizer imports torch._dynamo, and torch.profiler torch._inductor, 1 to 2 s.
WHOLE_TORCH = {"PYTHONPATH": ""}
VARIABLES = {
    "PYTHONPATH": str(Path(__file__).with_name("eager_torch")),
    # A thread of OpenBLAS that waits for work spins: 50 ms of CPU time in each process that imports numpy.
    "OPENBLAS_NUM_THREADS": "1",
}
