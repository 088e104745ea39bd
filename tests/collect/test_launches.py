"""Kernels, graph replays and waits that no operator asked for, and where the program asked for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfprobe.session import report_document
from perfprobe.support.view import View
from perfprobe.tables import storage
from tests.collect import launched
from tests.collect.runs import LIMIT_S
from tests.collect.standin import OPERATORS, build, environment


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("standin"))


PROGRAM = """
import inspect, pickle, traceback
import perfprobe
from torch._inductor.codecache import PyCodeCache

sys.path.append("site-packages")  # not before: inductor would take the stand-in for Triton
import triton.runtime.autotuner
from triton.runtime.jit import JITFunction

# What a build with CUDA has.
torch.cuda._lazy_init = lambda: None
torch._C._cuda_synchronize = lambda: gpu.standin_synchronize(7)
class CUDAGraph:
    def replay(self) -> None:
        gpu.standin_launch_graph(b"node", 4, 1000, 7)

torch.cuda.CUDAGraph = CUDAGraph
for kind in (torch._C._CudaStreamBase, torch._C._CudaEventBase):
    kind.synchronize = lambda self: gpu.standin_synchronize(7)

def scale(x, y, n): pass
def tuned(x, y, n): pass

def pointwise(x):
    y = x + 1
    return torch.relu(y)

kernel = JITFunction(scale)
autotuner = triton.runtime.autotuner.Autotuner(JITFunction(tuned))
graph = CUDAGraph()
stream = object.__new__(torch.cuda.Stream)
event = object.__new__(torch.cuda.Event)
x = torch.ones(32, 32)
places = [(JITFunction, "run"), (CUDAGraph, "replay"), (torch.cuda.Stream, "synchronize"),
          (torch.cuda.Event, "synchronize"), (torch._C, "_cuda_synchronize")]

def once():
    kernel[(1,)](x, x, 1024)
    kernel.warmup(x, x, 1024, grid=(1,))
    autotuner[(1,)](x, x, 1024)
    autotuner[(1,)](x, x, 1024)
    compiled([x])
    compiled([x])
    graph.replay()
    torch.cuda.synchronize(-1)
    stream.synchronize()
    event.synchronize()

before = [vars(owner)[name] for owner, name in places]
with perfprobe.profile("run.perfprobe", gpu="cupti", python="off"):
    noted = [(10, TRACE)]
    compiled = PyCodeCache.load_by_key_path("cabc", os.path.abspath("cache/ab/cabc.py"), linemap=noted).call
    once()
    ours = JITFunction.run
    assert ours.__wrapped__ is before[0] and ours.__name__ == "run" and ours.__doc__ == "Launch."
    assert inspect.signature(ours) == inspect.signature(before[0])
    assert str(inspect.signature(kernel.run)) == "(*args, grid, warmup, **kwargs)"
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert ours.__code__ is before[0].__code__
    try:
        kernel[print](x)
    except ValueError:
        traceback.print_exc(file=sys.stdout)
    try:
        kernel.run(x)
    except TypeError as error:
        print(error)
assert [vars(owner)[name] for owner, name in places] == before
once()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, library: Path) -> tuple[str, Path]:
    """What the program printed, and where it ran."""
    folder = tmp_path_factory.mktemp("launches")
    code = "y = x + 1"
    launched.write(folder)
    source = OPERATORS + PROGRAM
    line = source.splitlines().index(f"    {code}") + 1
    trace = f'  File "{folder}/main.py", line {line}, in pointwise\n    {code}\n'
    (folder / "main.py").write_text(source.replace("TRACE", repr(trace)))
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env={**os.environ, **environment(library)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def test_x(run: tuple[str, Path]) -> None:
    out, folder = run
    document = report_document(folder / "run.perfprobe", View())
    print(out)
    print(json.dumps(document, indent=1))
    raise SystemExit
