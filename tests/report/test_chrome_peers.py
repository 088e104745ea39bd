"""Exported traces in torch-tb-profiler and HolisticTraceAnalysis: their figures, frozen and live."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from tests.analyse.test_gpu_traces import DIFFERENT, folder
from tests.report.traced import STEPS, traced, write

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "truth" / "export_figures.py"
# Each time in a trace of 2024 is off by up to 0.5 ns as a float of microseconds; the plugin subtracts them.
NEAR_US = 0.05
_TOOLS = ("plugin", "hta")


def peers() -> list[str]:
    """Interpreters that have one of the two."""
    found = [name for name in os.environ.get("PERFPROBE_PEERS", "").split(":") if name]
    if not found:
        pytest.skip("PERFPROBE_PEERS names no interpreters with torch-tb-profiler or HolisticTraceAnalysis")
    return found


def figures(interpreter: str, *traces: Path) -> list[dict[str, Any]]:
    """What the tool of this interpreter computes from each trace."""
    words = [interpreter, str(SCRIPT), *map(str, traces)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, timeout=600).stdout)
    return [found[trace.name] for trace in traces]


def frozen() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SCRIPT.with_suffix(".json").read_text())
    return found


@pytest.mark.parametrize("tool", _TOOLS)
def test_frozen_kernel_times_are_those_of_the_recording(tool: str) -> None:
    wanted = {"gemm": 2100.0, "gemm_backward": 2100.003, "fill_kernel": 2100.006}  # by hand: traced.py
    assert frozen()[tool]["kernel_us"] == wanted
    assert len(frozen()[tool]["steps"]) == STEPS


def test_perfetto_reads_every_slice_arrow_and_counter(tmp_path: Path) -> None:
    """Figures that its trace processor gave for this trace (perfetto_figures.py), against the trace."""
    reported = json.loads(SCRIPT.with_name("perfetto_figures.json").read_text())["made.json"]
    events = json.loads(write(traced(), tmp_path).read_text())["traceEvents"]
    slices = Counter(event["cat"] for event in events if event["ph"] in "Xbi")
    assert {category: count for category, count, _ in reported["slices"]} == slices
    assert reported["flows"] == [[sum(event["ph"] == "s" for event in events)]]
    assert reported["counters"] == [[sum(len(event["args"]) for event in events if event["ph"] == "C")]]
    sums = Counter[str]()
    for event in events:
        if event["ph"] == "X" and event["cat"] == "kernel":
            sums[event["name"]] += round(event["dur"] * 1000)
    assert {name: total_ns for name, _, total_ns in reported["kernels"]} == sums
    assert reported["errors"] == []


def test_the_tools_still_say_what_is_frozen(tmp_path: Path) -> None:
    trace = write(traced(), tmp_path)
    for interpreter in peers():
        (found,) = figures(interpreter, trace)
        for tool, reported in found.items():
            assert reported == frozen()[tool]


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_real_trace_has_the_same_figures_after_reading_and_exporting(name: str, tmp_path: Path) -> None:
    original = folder() / f"{name}.json.gz"
    if not original.is_file():
        pytest.skip(f"no {original.name} in PERFPROBE_TRACES")
    trace = tmp_path / "again.json"
    trace.write_bytes(b"".join(Results(str(original)).export("chrome", None).parts))
    for interpreter in peers():
        before, after = figures(interpreter, _without_streams(original, tmp_path), trace)
        for tool in before.keys() & set(_TOOLS):
            _compare(before[tool], after[tool])
        assert before.get("failed") == after.get("failed")  # HTA, of a trace without the columns it wants


def _without_streams(original: Path, folder: Path) -> Path:
    """The trace without the streams that Triton's operators have: HTA counts these as work of the GPU."""
    trace = json.loads(gzip.decompress(original.read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op":
            event.get("args", {}).pop("stream", None)
    written = folder / "original.json"
    written.write_text(json.dumps(trace))
    return written


def _compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Times of kernels and, by the plugin, of the step and its parts, and figures of GPUs."""
    assert after["kernel_us"] == pytest.approx(before["kernel_us"], abs=NEAR_US)
    assert after["steps"] == before["steps"]
    if "time_us" in before:
        assert after["time_us"] == pytest.approx(before["time_us"], abs=1)  # HTA's are whole microseconds
    if "step_us" in before:
        assert after["step_us"] == pytest.approx(before["step_us"], abs=NEAR_US)
        for gpu, reported in before["gpus"].items():
            known = {name: value for name, value in reported.items() if value is not None}
            assert after["gpus"][gpu] == reported | {
                name: pytest.approx(known[name], rel=1e-5) for name in known
            }
