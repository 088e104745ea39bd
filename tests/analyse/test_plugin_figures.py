"""Steps, their breakdown and GPU use, compared with what the TensorBoard plugin computed for real traces.

If its figures differ from ours, the reason is a fault of the plugin. To show this, the trace is changed so
that we see what the plugin sees; then the figures are equal:

- It recognizes calls of CUDA by the category `Runtime`, which traces have not had since torch 1.11. Without
  such calls, steps do not extend to the end of the work launched in them, and the calls count as CPU Exec,
  or as Other outside of operators.
- Ranges have the category `user_annotation` since torch 1.12. Its code counts these but does not read them,
  except steps and collectives, so those of the DataLoader never count. It reads `gpu_user_annotation` (GPU
  time of what a range launched) as if it were on the host: a `ProfilerStep#N` becomes one more step.
- NCCL kernels are Communication only if they have the external id of one of five operators. Today's have
  another one, and the ranges that NCCL sets have none.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse.analysis import Analysis
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.gpu_use import DeviceUse, GpuUse
from perfprobe.tables.peers import PeerTimes, Role

ROLES = {
    Role.KERNEL: "Kernel",
    Role.MEMCPY: "Memcpy",
    Role.MEMSET: "Memset",
    Role.COMMUNICATION: "Communication",
    Role.RUNTIME: "Runtime",
    Role.DATALOADER: "DataLoader",
    Role.CPU_EXEC: "CPU Exec",
    Role.OTHER: "Other",
}
AS_WRITTEN = ("v100_resnet50_num_workers_0", "v100_resnet50_num_workers_4")
OF_TODAY = (
    *("h100_bert_small", "h100_qwen_0.5b", "a100_event_sync", "a100_simple_add", "a100_nccl"),
    "mi300_triton_compile",
)
_READ = ("ProfilerStep#", "nccl:")
_UNKNOWN = ("cuda_runtime", "cuda_driver")


def folder() -> Path:
    named = os.environ.get("PERFPROBE_TRACES")
    path = Path(named or "")
    if not named or not (path / "tensorboard_plugin_figures.json").exists():
        pytest.skip("PERFPROBE_TRACES names no folder with the plugin's figures")
    return path


def reported(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder() / "tensorboard_plugin_figures.json").read_text())[name]
    return figures


def found_in(path: Path) -> tuple[PeerTimes, GpuUse]:
    found = Analysis(link(kineto.read(path))).find((PeerTimes, GpuUse))
    return found[PeerTimes], found[GpuUse]


def as_the_plugin_sees(name: str, path: Path) -> Path:
    """The trace as the plugin sees it: without events that it ignores, and with those that it misreads."""
    with gzip.open(folder() / f"{name}.json.gz") as file:
        trace = json.load(file)
    events = []
    for event in trace["traceEvents"]:
        category = event.get("cat")
        if category in _UNKNOWN:
            continue
        if category in ("user_annotation", "gpu_user_annotation"):
            if not event["name"].startswith(_READ):
                continue
            event["cat"] = "user_annotation"
        if category == "kernel":
            event["name"] = "unknown" if "nccl" in event["name"] else event["name"]
        events.append(event)
    changed = path / f"{name}.json"
    changed.write_text(json.dumps({**trace, "traceEvents": events}))
    return changed


def breakdown_us(found: PeerTimes) -> dict[str, float]:
    """The average step by category, rounded as by the plugin."""
    roles, count = found.roles, len(found.plugin_steps)
    sums = {text: int(roles.time_ns[roles.role == role].sum()) for role, text in ROLES.items()}
    return {text: sum_ns / count / 1000 for text, sum_ns in sums.items()}


def printed(share: float | None) -> float | None:
    """A percentage as printed by the plugin."""
    return None if share is None else round(100 * share, 2)


def assert_steps(found: PeerTimes, name: str) -> None:
    figures, ours = reported(name), breakdown_us(found)
    whole_us = sum(ours.values())
    assert round(whole_us) == figures["avg_step_us"]
    assert {text: round(ours[text]) for text in figures["breakdown_us"]} == figures["breakdown_us"]
    shares = {text: printed(ours[text] / whole_us) for text in figures["breakdown_pct"]}
    assert shares == figures["breakdown_pct"]
    assert all(ours[text] == 0 for text in ours.keys() - figures["breakdown_us"].keys())


def assert_use(use: DeviceUse, name: str) -> None:
    figures, device = reported(name), str(use.device)
    assert use.kernel_ns / use.span_ns == pytest.approx(figures["gpu_utilization"][device], rel=1e-5)
    assert printed(use.kernel_ns / use.span_ns) == printed(figures["gpu_utilization"][device])
    efficiency = figures["est_sm_efficiency"].get(device)
    # Traces have blocks for each multiprocessor with six digits; the plugin's times are float microseconds.
    assert use.sm_efficiency == (None if efficiency is None else pytest.approx(efficiency, rel=1e-5))
    assert printed(use.sm_efficiency) == printed(efficiency)
    occupancy = figures["est_occupancy_pct"].get(device)
    share = None if occupancy is None else occupancy / 100
    assert use.plugin_occupancy == (None if share is None else pytest.approx(share, rel=1e-5))
    assert printed(use.plugin_occupancy) == printed(share)


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_every_figure_equals_the_plugins_to_the_last_digit(name: str) -> None:
    times, use = found_in(folder() / f"{name}.json.gz")
    assert_steps(times, name)
    assert_use(use.devices[0], name)
    share = use.devices[0].plugin_tensor_ns / use.devices[0].kernels_ns
    assert share == reported(name)["tensor_core_ratio"]["0"]


@pytest.mark.parametrize("name", OF_TODAY)
def test_with_the_plugins_faults_every_figure_equals_its_own(name: str, tmp_path: Path) -> None:
    times, use = found_in(as_the_plugin_sees(name, tmp_path))
    assert_steps(times, name)
    assert_use(use.devices[0], name)


@pytest.mark.parametrize("name", OF_TODAY)
def test_without_the_faults_calls_of_cuda_are_runtime(name: str) -> None:
    times, use = found_in(folder() / f"{name}.json.gz")
    ours, steps = breakdown_us(times), times.plugin_steps
    assert reported(name)["breakdown_us"]["Runtime"] == 0 < ours["Runtime"]
    numbers = steps.number.tolist()
    assert numbers == sorted(set(numbers))  # no duplicates
    assert sum(ours.values()) == pytest.approx(int((steps.end_ns - steps.start_ns).sum()) / len(steps) / 1000)
    parts = use.parts
    both_ns = parts.computing_ns + parts.communication_ns + parts.copying_ns + parts.idle_ns
    assert both_ns.tolist() == (steps.end_ns - steps.start_ns).tolist()
