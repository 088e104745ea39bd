"""What makes test programs that import torch, but do not compile, start sooner."""

from __future__ import annotations

from pathlib import Path

# The first step of an optimizer imports torch._dynamo, 1 to 2 s of CPU time in each process, and then only
# calls these two functions, which do nothing in a program that does not compile. The programs of
# benchmarks/workloads and of `--keep` import the real one.
WITHOUT_DYNAMO = (
    "import sys, types; sys.modules['torch._dynamo'] = types.SimpleNamespace("
    "disable=lambda function, *_, **__: function, graph_break=lambda: None)\n"
)

# A quarter of the time to import torch, 0.4 s of CPU time, goes to operators for tensors without data and to the
# decompositions that they need. Only compilers and the device `meta` use them. In the programs that tests start, a
# sitecustomize.py leaves them out, except with the variables WHOLE_TORCH.
WHOLE_TORCH = {"PYTHONPATH": ""}
VARIABLES = {
    "PYTHONPATH": str(Path(__file__).with_name("eager_torch")),
    # A thread of OpenBLAS that waits for work spins: 50 ms of CPU time in each process that imports numpy.
    "OPENBLAS_NUM_THREADS": "1",
}
