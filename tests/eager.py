"""Variables that make the programs of tests start sooner: those that import torch, but do not compile."""

from __future__ import annotations

from pathlib import Path

# A sitecustomize.py leaves out of torch what only compilers, exporters, quantisation, distributions, nested
# and masked tensors, pipes of data and the device `meta` use. Nor is garbage collected while torch is
# imported, and no collection looks at torch's objects afterwards. A program that imports torch takes 0.65 s
# of CPU time, not 1.65. The first step of an optimizer imports torch._dynamo, and torch.profiler
# torch._inductor, 1 to 2 s.
# A program that uses a part that is left out fails and names this file: give it WHOLE_TORCH, which takes 1 s.
WHOLE_TORCH = {"PERFPROBE_WHOLE_TORCH": "yes"}
# The first entry of PYTHONPATH for programs that run with `python -S`.
WITHOUT_SITE = str(Path(__file__).with_name("eager_torch") / "without_site")
VARIABLES = {
    "PYTHONPATH": str(Path(__file__).with_name("eager_torch")),
    # perfprobe's own processes drop PYTHONPATH. `make setup` puts eager_torch/own_processes.pth into .venv,
    # which asks for this one. Without that file they import all of torch.
    "PERFPROBE_LESS_TORCH": str(Path(__file__).with_name("eager_torch")),
    # A thread of OpenBLAS that waits for work spins: 50 ms of CPU time in each process that imports numpy.
    "OPENBLAS_NUM_THREADS": "1",
}
