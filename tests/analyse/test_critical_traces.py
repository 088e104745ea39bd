"""The critical path of whole traces against that of HolisticTraceAnalysis.

Its figures are in `benchmarks/truth/hta_figures.json`, which the script beside them makes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

import perfprobe
from perfprobe.analyse.critical.graph import path_of
from perfprobe.analyse.critical.watch import CriticalWatch, whole_graph
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.critical import Bound, CriticalPath
from perfprobe.tables.steps import StepTimes
from tests.found import find, watched

FIGURES = Path(perfprobe.__file__).parents[1] / "benchmarks/truth/hta_figures.json"
TRACES = json.loads(FIGURES.read_text())["traces"]
KNOWN = sorted(name for name, reported in TRACES.items() if "length" in reported["critical_path"])
# It knows neither hipDeviceSynchronize as a wait nor hipModuleLaunchKernel as a launch.
AMD = "mi300_triton_compile"
_BOUNDS = {
    "cpu_bound": (Bound.CPU,),
    "gpu_compute_bound": (Bound.COMPUTE, Bound.COPY),
    "gpu_communication_bound": (Bound.COMMUNICATION,),
    "gpu_kernel_kernel_overhead": (Bound.KERNEL_GAP,),
    "gpu_kernel_launch_overhead": (Bound.LAUNCH,),
}


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("PERFPROBE_TRACES")
    if not named or not Path(named, "a100_simple_add.json.gz").exists():
        pytest.skip("PERFPROBE_TRACES names no folder with the traces")
    return Path(named)


def found_in(path: Path) -> tuple[float, Counter[Bound]]:
    """Length of the path and its parts, microseconds."""
    watch = CriticalWatch(link(kineto.read(path)), None)
    watched(watch.trace, watch)
    graph = whole_graph(watch)
    found = path_of(graph)
    assert found is not None
    parts: Counter[Bound] = Counter()
    for at, first, last in found.stretches:
        chain = graph.chains[at]
        for node in range(first, last):
            parts[Bound(chain.bound[node])] += int(chain.reached_ns[node + 1] - chain.reached_ns[node])
    parts[Bound.LAUNCH] += sum(int(graph.edges.weight_ns[edge]) for edge in found.edges)
    return found.length_ns / 1000, parts


@pytest.mark.parametrize("name", KNOWN)
def test_its_length_and_what_bounds_it_are_hta_s(folder: Path, name: str) -> None:
    reported = TRACES[name]["critical_path"]
    length, parts = found_in(folder / f"{name}.json.gz")
    assert length == pytest.approx(reported["length"], rel=0.01 if name == AMD else 1e-5)
    assert length == pytest.approx(sum(parts.values()) / 1000)
    if name != AMD:
        ours = {each: sum(parts[own] for own in bounds) / 1000 for each, bounds in _BOUNDS.items()}
        assert ours == pytest.approx(
            {each: reported["bound_by"].get(each, 0) for each in _BOUNDS}, rel=1e-4, abs=1
        )


@pytest.mark.parametrize("name", sorted(TRACES))
def test_its_rows_are_all_of_it(folder: Path, name: str) -> None:
    """In steps, with Python and threads: no row is left out, and no time counted twice."""
    found = find(link(kineto.read(folder / f"{name}.json.gz")), CriticalPath, StepTimes)[CriticalPath]
    assert int(found.rows.total_ns.sum()) == found.length_ns
    assert found.hta_ns <= found.length_ns <= found.wall_ns
