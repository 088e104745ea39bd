"""Programs with torch.compile on the CPU, compiled once and then loaded from inductor's cache."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.collect.runs import BUSY_SOURCES, Outcome, finish, perfprobe, start
from tests.eager import WHOLE_TORCH

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler"),
]

# Garbage of torch's import, which is not what is tested, takes a seventh of the time.
PROGRAM = """\
import gc

gc.disable()

import torch

torch.manual_seed(0)


def pointwise(x, y):
    total = x + y
    return torch.relu(total) * 2


def broken(x):
    wave = torch.sin(x) + 1
    torch._dynamo.graph_break()
    return torch.cos(wave) * 3


def growing(x, y):
    total = x + y
    return torch.relu(total) * 5


def uncompiled(x):
    return torch.sin(x) + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(16, 32)
        self.outer = torch.nn.Linear(32, 8)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.inner(x))
        return self.outer(hidden)


def inference():
    compiled = torch.compile(pointwise, fullgraph=True)
    for _ in range(5):
        result = compiled(torch.ones(4, 8), torch.ones(4, 8))
    print(result.sum().item())
    compiled = torch.compile(broken, mode="reduce-overhead")
    for _ in range(3):
        result = compiled(torch.ones(6))
    print(result.sum().item())
    compiled = torch.compile(growing, dynamic=True)
    for rows in (3, 4, 5, 6):
        result = compiled(torch.ones(rows, 2), torch.ones(rows, 2))
    print(result.sum().item())
    print(torch.compile(uncompiled, backend="eager")(torch.zeros(3)))


def training():
    net = Net()
    compiled = torch.compile(net)
    for _ in range(4):
        compiled(torch.ones(5, 16)).sum().backward()
    print(net.inner.weight.grad.sum().item())


if __name__ == "__main__":
    inference()
    training()
"""

# The same under plain Python. Then what was compiled before perfprobe starts; the second profiler is the
# program's own. All in one program, because to import torch and its compiler takes most of the time.
BLOCKS = """\
import contextlib
import traceback

import program

program.inference()
program.training()
print("END OF PROGRAM")

import perfprobe
import torch
import torch._inductor.config as inductor
from program import pointwise
from torch._inductor.codecache import PyCodeCache

torch._dynamo.reset()
PyCodeCache.cache_clear()
load = vars(PyCodeCache)["load_by_key_path"]
compiled = torch.compile(pointwise, fullgraph=True)
one, other, out = torch.ones(4, 8), torch.ones(4, 8), torch.empty(4, 8)
compiled(one, other)
(kernel,) = [value for name, value in vars(PyCodeCache.modules[0]).items() if name.startswith("cpp_fused")]
for calls, path in ((3, "first.perfprobe"), (2, "second.perfprobe")):
    with perfprobe.profile(path):
        assert vars(PyCodeCache)["load_by_key_path"] is not load
        with torch.profiler.profile() as seen:
            for _ in range(calls):
                compiled(one, other)
        assert not [event for event in seen.events() if event.name.startswith("inductor::")]
        wrapped = PyCodeCache.modules[0].cpp_fused_add_mul_relu_0
        assert wrapped.__wrapped__ is kernel
        for wrongly in (lambda: wrapped(one), lambda: wrapped(one, nonsense=1)):
            try:
                wrongly()
            except Exception as error:
                print(repr(error))
    assert vars(PyCodeCache)["load_by_key_path"] is load
    assert PyCodeCache.modules[0].cpp_fused_add_mul_relu_0 is kernel
    assert wrapped(one, other, out) is None
    print(out.sum().item())


def shifted(x):
    return torch.relu(x + 1) * 2


# To precompile torch's headers takes longer than to compile this one kernel with them.
inductor.cpp_cache_precompile_headers = False
with perfprobe.profile("wrapped.perfprobe"):
    by_cpp = torch.compile(shifted, options={"cpp_wrapper": True})
    print(*(by_cpp(torch.ones(4)).sum().item() for _ in range(3)))

# Without a compiler, and the second time recorded.
inductor.cpp.cxx = None, "/dev/null"
for recording in (contextlib.nullcontext(), perfprobe.profile("failing.perfprobe")):
    torch._dynamo.reset()
    with recording:
        try:
            torch.compile(lambda x: torch.exp(x) + 7)(torch.ones(3))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            print(type(error).__name__, [frame.name for frame in frames])
"""


NO_WORKERS = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}


@dataclass(frozen=True)
class Blocks:
    """What BLOCKS prints.

    Attributes:
        plain: what PROGRAM prints.
        lines: three for each of two blocks, C++'s results, and two failures.
        err: on standard error.
    """

    plain: bytes
    lines: list[str]
    err: bytes


@dataclass(frozen=True)
class Runs:
    """The first run, which compiles, and one from the cache, both recorded."""

    folder: Path
    environment: dict[str, str]
    cold: Outcome
    warm: Outcome
    recording: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("compiled")
    cached = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    # Inductor takes the processor's word for its instructions. To compile a program with each takes 6 s.
    environment = {**WHOLE_TORCH, **cached, "TORCHINDUCTOR_VEC_ISA_OK": "1"}
    (folder / "program.py").write_text(PROGRAM)
    cold = perfprobe(["-o", "cold.perfprobe", "program.py"], folder, environment)
    # Without compile workers: they are another way.
    warm = perfprobe(["-q", "-o", "recorded.perfprobe", "program.py"], folder, environment | NO_WORKERS)
    return Runs(folder, environment, cold, warm, folder / "recorded.perfprobe")


@pytest.fixture(scope="module")
def blocks(runs: Runs) -> Blocks:
    (runs.folder / "blocks.py").write_text(BLOCKS)
    outcome = finish(start(["blocks.py"], runs.folder, runs.environment | NO_WORKERS))
    assert outcome.status == 0, outcome.err.decode()
    plain, _, later = outcome.out.partition(b"END OF PROGRAM\n")
    return Blocks(plain, later.decode().splitlines(), outcome.err)


@cache
def hotspots(recording: Path) -> list[dict[str, Any]]:
    """For reading only: several tests read the same recording."""
    rows: list[dict[str, Any]] = Results(str(recording)).document(View())["tables"]["hotspots"]
    return rows


def kernels(recording: Path) -> dict[str, Counter[tuple[int, str, str]]]:
    """Calls of every kernel by line, function and phase."""
    found: dict[str, Counter[tuple[int, str, str]]] = {}
    for row in hotspots(recording):
        if row["operator"].startswith("inductor::"):
            place = row["line"], row["function"].rpartition(".")[2], row["phase"]
            found.setdefault(row["operator"], Counter())[place] += row["calls"]
    return found


# Counted by hand in PROGRAM. Lines are those of `def`, or where the code continues after a graph break.
EXPECTED = {
    "inductor::cpp_fused_add_mul_relu_0": {(10, "pointwise", "other"): 5},
    "inductor::cpp_fused_add_sin_0": {(15, "broken", "other"): 3},
    "inductor::cpp_fused_cos_mul_0": {(17, "torch_dynamo_resume_in_broken_at_17", "other"): 3},
    "inductor::cpp_fused_add_mul_relu_0#2": {(21, "growing", "other"): 4},
    "inductor::cpp_fused_gelu_0": {(36, "forward", "forward"): 4},
    "inductor::cpp_fused_gelu_gelu_backward_sum_0": {(36, "forward", "backward"): 4},
    "inductor::cpp_fused_sum_1": {(36, "forward", "backward"): 4},
}


@pytest.mark.parametrize("name", ["cold", "recorded"])
def test_every_kernel_call_has_the_line_of_its_function(runs: Runs, name: str) -> None:
    assert kernels(runs.folder / f"{name}.perfprobe") == EXPECTED


@pytest.mark.parametrize("name", ["cold", "recorded"])
def test_kernels_name_the_operators_they_were_made_from(runs: Runs, name: str) -> None:
    rows = {row["operator"]: row for row in hotspots(runs.folder / f"{name}.perfprobe")}
    backward = rows["inductor::cpp_fused_gelu_gelu_backward_sum_0"]
    assert backward["made_from"] == ["gelu", "gelu_backward", "sum"]
    assert [place["line"] for place in backward["made_from_lines"]] == [38, 37]
    assert backward["made_from_lines"][0]["file"] == str(runs.folder / "program.py")
    assert backward["module"] == "Net"  # without the wrappers of torch.compile
    assert rows["inductor::cpp_fused_gelu_0"]["made_from"] == ["gelu"]
    assert [place["line"] for place in rows["inductor::cpp_fused_gelu_0"]["made_from_lines"]] == [37]
    assert rows["inductor::cpp_fused_gelu_0"]["signature"] == "f32[5,32] f32[5,32]"
    assert rows["aten::mm.out" if "aten::mm.out" in rows else "aten::mm"]["made_from"] is None
    # Shown alone, the row has the width that it needs.
    text = Results(str(runs.recording)).text(View(focus="gelu_backward"))
    assert "made from gelu, gelu_backward, sum" in text


def test_generated_code_is_not_the_users(runs: Runs) -> None:
    files = {row["file"] for row in hotspots(runs.recording)} - {None}
    assert files == {str(runs.folder / "program.py")}


def test_tracing_has_a_phase_of_its_own(runs: Runs) -> None:
    rows = hotspots(runs.folder / "cold.perfprobe")
    traced = [row for row in rows if row["phase"] == "compile"]
    assert {"aten::relu", "aten::sin"} <= {row["operator"] for row in traced}
    operators = [row for row in traced if row["operator"] != "CompiledFunctionBackward"]
    assert all(row["signature"] is None for row in operators)
    assert not [row for row in rows if row not in traced and ":subclass" in (row["signature"] or "")]


# From the cache it is loaded with forward.
@pytest.mark.parametrize(
    ("name", "calls"), [("cold", {"compile": 1, "backward": 3}), ("recorded", {"backward": 4})]
)
def test_a_backward_that_compiles_has_the_phase_compile_once(
    runs: Runs, name: str, calls: dict[str, int]
) -> None:
    rows = [row for row in hotspots(runs.folder / f"{name}.perfprobe") if row["phase"] is not None]
    nodes = {row["phase"]: row for row in rows if row["operator"] == "CompiledFunctionBackward"}
    assert {phase: row["calls"] for phase, row in nodes.items()} == calls
    assert {row["self_ns"] for row in nodes.values()} == {0}
    if "compile" in calls:
        assert nodes["compile"]["python_ns"] > nodes["backward"]["python_ns"]
    backward = [row for row in rows if row["phase"] == "backward"]
    unnamed = [row for row in backward if row["reason"] not in (None, "AccumulateGrad: no forward line")]
    assert sum(row["self_ns"] for row in unnamed) <= 0.01 * sum(row["self_ns"] for row in backward)


def test_the_program_behaves_as_under_plain_python(runs: Runs, blocks: Blocks) -> None:
    assert (runs.cold.status, runs.warm.status) == (0, 0)
    assert runs.cold.out == runs.warm.out == blocks.plain
    assert runs.warm.err.count(b"\n") <= blocks.err.count(b"\n")  # lines contain a time
    losses = Results(str(runs.recording)).document(View())["missing"]
    assert {loss["source"] for loss in losses} <= {*BUSY_SOURCES, "processes"}  # the compiler


def test_blocks_around_already_compiled_code(runs: Runs, blocks: Blocks) -> None:
    few_arguments, keyword, total = blocks.lines[:3]
    assert few_arguments == "RuntimeError('requires 3 args')"
    assert keyword.startswith("TypeError(")
    assert total == "128.0"
    for calls, name in ((3, "first"), (2, "second")):
        found = kernels(runs.folder / f"{name}.perfprobe")
        # The two that failed were also counted.
        assert sum(found["inductor::cpp_fused_add_mul_relu_0"].values()) == calls + 2


def test_kernels_called_by_cpp_are_a_loss(runs: Runs, blocks: Blocks) -> None:
    assert blocks.lines[6] == "16.0 16.0 16.0"
    losses = Results(str(runs.folder / "wrapped.perfprobe")).document(View())["missing"]
    (loss,) = (loss for loss in losses if loss["source"] == "operators")
    assert loss["count"] == 1
    assert "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1" in loss["remedy"]


def test_without_a_compiler_the_error_is_inductors(runs: Runs, blocks: Blocks) -> None:
    plain, recorded = blocks.lines[7:]
    assert "Error" in plain
    assert recorded == plain
    assert (runs.folder / "failing.perfprobe").exists()
