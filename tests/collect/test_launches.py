"""Kernels, graph replays and waits outside of operators have the line that caused them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.collect import launched
from tests.collect.runs import LIMIT_S
from tests.collect.standin import OPERATORS, environment
from tests.eager import WHOLE_TORCH

PROGRAM = """
import copy, inspect, pickle, traceback
import perfprobe
from torch._inductor.codecache import PyCodeCache
from torch._inductor.runtime import triton_heuristics

# Not before: inductor would take the stand-in for Triton. Nor beside the real one.
sys.path.insert(0, "site-packages")
for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
    del sys.modules[name]
import triton.runtime.autotuner
from triton.runtime.jit import JITFunction

# What a build with CUDA has.
torch.cuda._lazy_init = lambda: None
torch._C._cuda_synchronize = lambda: gpu.standin_synchronize(7)
class CUDAGraph:
    def replay(self) -> None:
        gpu.standin_launch_graph(b"node", 4, 1000, 7)

class Stream:
    def synchronize(self) -> None:
        gpu.standin_synchronize(7)

class Event:
    def synchronize(self) -> None:
        gpu.standin_synchronize(7)

torch.cuda.CUDAGraph, torch.cuda.Stream, torch.cuda.Event = CUDAGraph, Stream, Event

def scale(x, y, n): pass
def tuned(x, y, n): pass

def pointwise(x):
    y = x + 1
    return torch.relu(y)

kernel = JITFunction(scale)
autotuner = triton.runtime.autotuner.Autotuner(JITFunction(tuned))
graph = CUDAGraph()
stream = Stream()
event = Event()
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
with perfprobe.profile("run.perfprobe", gpu="cupti", gpu_links=LINKS, python="off"):
    noted = [(10, TRACE)]
    compiled = PyCodeCache.load_by_key_path("cabc", os.path.abspath("cache/ab/cabc.py"), linemap=noted).call
    once()
    ours = JITFunction.run
    assert ours.__wrapped__ is before[0] and ours.__name__ == "run" and ours.__doc__ == "Launch."
    assert inspect.signature(ours) == inspect.signature(before[0])
    assert str(inspect.signature(kernel.run)) == "(*args, grid, warmup, **kwargs)"
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert ours.__code__ is before[0].__code__ and copy.deepcopy(ours) is ours
    assert ours == before[0] and {before[0]: 1}[ours] == 1 and before[1] != ours
    assert type(kernel.run) is type(kernel.warmup)
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


@dataclass(frozen=True)
class Run:
    out: str
    document: dict[str, Any]
    source: list[str]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of the report, with the text of their line as `code`."""
        rows = self.document["tables"][table]
        return [{**row, "code": row["line"] and self.source[row["line"] - 1].strip()} for row in rows]


@pytest.fixture(scope="module", params=["time", "exact"])
def run(request: pytest.FixtureRequest, standin: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("launches")
    launched.write(folder)
    source = OPERATORS + PROGRAM.replace("LINKS", repr(request.param))
    line = source.splitlines().index("    y = x + 1") + 1
    trace = f'  File "{folder}/main.py", line {line}, in pointwise\n    y = x + 1\n'
    (folder / "main.py").write_text(source.replace("TRACE", repr(trace)))
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env={**os.environ, **environment(standin), **WHOLE_TORCH},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Run(done.stdout, Results(str(folder / "run.perfprobe")).document(View()), source.splitlines())


def test_each_kernel_has_the_line_that_launched_it(run: Run) -> None:
    found = Counter[tuple[str, str, str, str]]()
    for row in run.rows("kernels"):
        if row["phase"] != "compile" and not row["is_graph"]:
            found[row["name"], row["operator"], row["signature"], row["code"]] += row["kernels"]
    arguments = "f32[32,32] f32[32,32] 1024"
    inductors = "triton_poi_fused_add_relu_0"
    assert found == {
        ("scale", "triton::scale", arguments, "kernel[(1,)](x, x, 1024)"): 1,
        ("tuned", "triton::tuned", arguments, "autotuner[(1,)](x, x, 1024)"): 2,
        (inductors, f"inductor::{inductors}", arguments, "compiled([x])"): 2,
        ("scale_kernel_0", "triton::scale_kernel_0", arguments, "compiled([x])"): 2,
    }


def test_autotuning_launches_have_the_phase_compile(run: Run) -> None:
    tuning = [row for row in run.rows("kernels") if row["phase"] == "compile"]
    assert {(row["operator"], row["code"]) for row in tuning} == {
        ("triton::tuned", "autotuner[(1,)](x, x, 1024)"),
        ("inductor::triton_poi_fused_add_relu_0", "compiled([x])"),
    }
    (own,) = [row["kernels"] for row in tuning if row["name"] == "tuned"]
    assert own == 3
    warm = [row for row in run.rows("hotspots") if row["code"] == "kernel.warmup(x, x, 1024, grid=(1,))"]
    assert [row["phase"] for row in warm] == ["compile"]


def test_kernels_of_a_graph_have_the_line_of_its_replay(run: Run) -> None:
    (row,) = [row for row in run.rows("kernels") if row["is_graph"]]
    assert (row["name"], row["kernels"], row["code"]) == ("node", 4, "graph.replay()")
    (replay,) = [row for row in run.rows("hotspots") if row["operator"] == "cuda::graph_replay"]
    assert (replay["code"], replay["calls"]) == ("graph.replay()", 1)
    assert (replay["gpu_ns"], replay["gpu_self_ns"]) == (4000, 0)


def test_waits_have_lines_and_are_not_operators(run: Run) -> None:
    lines = {
        "cuda::synchronize": "torch.cuda.synchronize(-1)",
        "cuda::Stream.synchronize": "stream.synchronize()",
        "cuda::Event.synchronize": "event.synchronize()",
    }
    waits = run.rows("gpu_waits")
    assert sorted(row["code"] for row in waits) == sorted(lines.values())
    assert {row["operator"] for row in waits} == {None}
    assert {row["name"]: row["code"] for row in run.rows("ranges")} == lines
    assert not [row for row in run.rows("hotspots") if "synchronize" in row["operator"]]


def test_kernels_of_inductor_name_their_operators(run: Run) -> None:
    rows = [row for row in run.rows("hotspots") if row["operator"].startswith("inductor::")]
    assert {tuple(row["made_from"]) for row in rows} == {("add", "relu")}
    assert {run.source[line["line"] - 1].strip() for row in rows for line in row["made_from_lines"]} == {
        "y = x + 1"
    }


def test_the_program_is_not_affected(run: Run) -> None:
    assert "perfprobe" not in run.out
    frames = [line.rpartition(" in ")[2] for line in run.out.splitlines() if line.startswith("  File")]
    assert frames == ["<module>", "<lambda>", "run"]
    assert "JITFunction.run() missing 2 required keyword-only arguments: 'grid' and 'warmup'" in run.out


def test_nothing_was_lost(run: Run) -> None:
    assert [loss for loss in run.document["missing"] if loss["source"] in ("gpu", "operators")] == []
