"""Programs with a cause that the first screen names, and such that nearly have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.report.section.screen.found import screened
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled, Rising, SlowDtype, SlowModes
from perfprobe.tables.trends import Trends
from tests.eager import WHOLE_TORCH

KEPT_BYTES = 1 << 19

# In each step the first keeps half a MiB more and has more to add up. The second fills a cache in its first
# seventy steps, and makes tensors of many sizes, which fill the pools of the allocator.
RISING = f"""
import torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
kept = []
for number in range(120):
    kept.append(bytearray(b"x") * {KEPT_BYTES})
    sum(range(10_000 * number))
    weight.sum().backward()
    optimizer.step()
"""
SILENT = f"""
import random, torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
cache, random = {{}}, random.Random(1)
for number in range(240):
    cache.setdefault(number % 70, bytearray(b"x") * {KEPT_BYTES})
    [torch.ones(random.randrange(1 << 18)) for _ in range(5)]
    sum(range(30000))
    weight.sum().backward()
    optimizer.step()
"""


# The model was made double in line 4. The one beside it only counts in float64.
DOUBLE = """
import torch
square = torch.randn(300, 300)
model = torch.nn.Linear(300, 300).double()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for number in range(12):
    model(square.double()).sum().backward()
    optimizer.step()
"""
COUNTS_IN_DOUBLE = """
import torch
square, sums = torch.randn(300, 300), torch.zeros(300).double()
model = torch.nn.Linear(300, 300)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for number in range(12):
    found = model(square)
    sums += found.detach().sum(0).double()
    found.sum().backward()
    optimizer.step()
"""
HALF = """
import torch
model, square = torch.nn.Linear(300, 300).half(), torch.randn(300, 300).half()
with torch.no_grad():
    for number in range(12):
        model(square)
"""


# `again` has a new number in each of its calls; `twice` is compiled once more, for another size.
COMPILED = """
import torch, torch._dynamo.utils
torch._dynamo.config.automatic_dynamic_shapes = False
@torch.compile(backend="eager")
def again(tensor, number):
    return tensor * number
@torch.compile(backend="eager")
def twice(tensor):
    return tensor + 1
for number in range(6):
    again(torch.ones(3), number)
    twice(torch.ones(3 + number // 3))
"""

# In each step a thousand short operators, so that steps with the profiler are longer on any machine.
MODES = """
import sys, torch
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
def train(steps):
    for number in range(steps):
        sum(weight for _ in range(300)).backward()
        optimizer.step()
mode, with_it, without = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
train(without)
if mode == "profiler":
    with torch.profiler.profile():
        train(with_it)
else:
    with torch.autograd.detect_anomaly():
        train(with_it)
"""


# Records each of the programs named in its arguments, with its own arguments: to import torch takes longer.
BLOCKS = """
import perfprobe, runpy, sys
for name, *arguments in map(str.split, sys.argv[1:]):
    sys.argv[1:] = arguments
    with perfprobe.profile(f"{name}.perfprobe"):
        runpy.run_path(f"{name}.py")
"""


def recorded(folder: Path, program: str, **variables: str) -> Results:
    (folder / "train.py").write_text(program)
    command = [sys.executable, "-m", "perfprobe", "-q", "-o", "run.perfprobe", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **variables})
    return Results(str(folder / "run.perfprobe"))


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the recordings of several programs."""
    folder = tmp_path_factory.mktemp("blocks")
    sources = {"double": DOUBLE, "counts": COUNTS_IN_DOUBLE, "half": HALF}
    for name, source in {**sources, "profiler": MODES, "few": MODES, "anomaly": MODES}.items():
        (folder / f"{name}.py").write_text(source)
    (folder / "blocks.py").write_text(BLOCKS)
    words = [*sources, "profiler profiler 40 4", "few profiler 5 55", "anomaly anomaly 40 0"]
    subprocess.run([sys.executable, "blocks.py", *words], cwd=folder, check=True, capture_output=True)
    return folder


def screen(blocks: Path, name: str) -> Findings:
    return screened(Results(str(blocks / f"{name}.perfprobe")).findings, View())


def test_memory_and_time_that_rise_are_said_with_their_size_and_line(tmp_path: Path) -> None:
    findings = screened(recorded(tmp_path, RISING).findings, View())
    memory, found = findings[Trends].memory, findings[Rising]
    assert memory is not None
    assert 0.95 * KEPT_BYTES <= memory.a_step <= 1.1 * KEPT_BYTES
    assert memory.low <= memory.a_step <= memory.high
    line = findings.trace.line(found.frame)
    assert (found.memory, found.slower, line and line.line) == (True, True, 8)
    texts = [row.text for row in screen_rows(findings)]
    assert sum("grows by" in text for text in texts) == sum("get slower" in text for text in texts) == 1


def test_a_cache_that_fills_and_a_warming_allocator_are_no_growth(tmp_path: Path) -> None:
    # One thread: others would wait for work in a loop, for half of the test's CPU time.
    findings = screened(recorded(tmp_path, SILENT, OMP_NUM_THREADS="1").findings, View())
    assert not findings[Rising].memory


@pytest.mark.parametrize(
    ("program", "dtype", "line"), [("double", "float64", 4), ("counts", None, 0), ("half", "float16", 3)]
)
def test_a_slow_dtype_is_named_with_the_line_that_converts_to_it(
    blocks: Path, program: str, dtype: str | None, line: int
) -> None:
    findings = screen(blocks, program)
    found = findings.get(SlowDtype)
    if dtype is None:
        assert found is None
        return
    assert found is not None
    place = findings.trace.line(found.frame)
    assert (found.dtype, place and place.line) == (dtype, line)
    assert sum(dtype in row.text for row in screen_rows(findings)) == 1


def test_the_function_that_is_compiled_again_and_again_is_named(tmp_path: Path) -> None:
    findings = screened(recorded(tmp_path, COMPILED, **WHOLE_TORCH).findings, View())
    numbers = {each.line.function: each.number for each in findings[Compilations].functions}
    assert numbers == {"again": 6, "twice": 2}
    found = findings[Recompiled].function
    assert (found.line.function, found.line.line, found.guard) == ("again", 4, "number == 4")
    assert sum("again compiled" in row.text for row in screen_rows(findings)) == 1


@pytest.mark.parametrize(
    ("program", "with_it", "without", "name", "line"),
    [
        ("profiler", 40, 4, "torch.profiler", 12),
        ("few", 5, 55, "", 0),
        ("anomaly", 40, 0, "anomaly mode", 15),
    ],
)
def test_a_mode_that_makes_torch_slower_is_named(
    blocks: Path, program: str, with_it: int, without: int, name: str, line: int
) -> None:
    findings = screen(blocks, program)
    found = findings[SlowModes].found
    assert [each.name for each in found] == ([name] if name else [])
    assert [row.label for row in screen_rows(findings)].count("MODE") == len(found)
    for each in found:
        assert (each.line and each.line.line) == line
        assert 0 < each.steps <= with_it  # steps that warm up, or with cProfile, do not count
        assert each.whole - each.steps <= without + 1  # the one in which it is switched off
        assert each.slower is None  # with fewer than six others: see tests/analyse/test_modes.py


def test_the_functions_that_switch_modes_are_given_back(tmp_path: Path) -> None:
    names = [(torch.autograd.profiler, "_run_on_profiler_stop"), (torch, "set_anomaly_enabled")]
    names += [(torch, "set_num_threads")]
    before = [getattr(module, name) for module, name in names]
    with perfprobe.profile(tmp_path / "run.perfprobe"):
        assert [getattr(module, name) for module, name in names] != before
    assert [getattr(module, name) for module, name in names] == before


def test_the_line_that_sets_the_number_of_threads_is_known(tmp_path: Path) -> None:
    path, before = tmp_path / "run.perfprobe", torch.get_num_threads()
    with perfprobe.profile(path):
        for number in (before + 1, before):
            torch.set_num_threads(number)
    noted = storage.read(path).fact("modes", "threads")
    assert isinstance(noted, dict)
    assert noted["number"] == before
    assert os.path.basename(str(noted["file"])) == os.path.basename(__file__)
