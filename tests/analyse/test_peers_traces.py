"""TensorBoard's breakdown of steps, compared with the plugin's own results for traces from GPUs."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.peers.watch import PeerWatch
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.peers import PeerTimes, Role
from perfprobe.tables.steps import StepTimes
from tests.found import find, watched

_ROLES = {
    Role.KERNEL: "Kernel",
    Role.MEMCPY: "Memcpy",
    Role.MEMSET: "Memset",
    Role.RUNTIME: "Runtime",
    Role.DATALOADER: "DataLoader",
    Role.CPU_EXEC: "CPU Exec",
    Role.OTHER: "Other",
}


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("PERFPROBE_TRACES")
    path = Path(named or "")
    if not named or not (path / "tensorboard_plugin_figures.json").exists():
        pytest.skip("PERFPROBE_TRACES names no folder with the plugin's figures")
    return path


def average_us(path: Path) -> tuple[dict[str, float], PeerTimes]:
    """The average over all steps by category, including warm-up and outliers, as the plugin computes it."""
    trace = link(kineto.read(path))
    times = find(trace, StepTimes)[StepTimes]
    steps = replace(times.steps, mark=np.zeros(len(times.steps), np.int8))
    watch = PeerWatch(trace, replace(times, steps=steps))
    watched(trace, watch)
    found = watch.result()
    assert found is not None
    roles, count = found.roles, len(found.steps)
    return {
        text: int(roles.time_ns[roles.role == role].sum()) / count / 1000 for role, text in _ROLES.items()
    }, found


@pytest.mark.parametrize("name", ["v100_resnet50_num_workers_0", "v100_resnet50_num_workers_4"])
def test_every_category_equals_the_plugins_to_the_microsecond(folder: Path, name: str) -> None:
    told = json.loads((folder / "tensorboard_plugin_figures.json").read_text())[name]
    ours, found = average_us(folder / f"{name}.json.gz")
    assert ours == pytest.approx(told["breakdown_us"], abs=2)  # its times are whole microseconds
    assert sum(ours.values()) == pytest.approx(told["avg_step_us"], abs=1)
    # A GPU's busy time is taken in the steps' own time. The plugin's steps are a little longer.
    steps_ns = int((found.steps.end_ns - found.steps.start_ns).sum())
    assert found.busy_ns[0] / steps_ns == pytest.approx(told["gpu_utilization"]["0"], abs=0.03)


def test_cuda_calls_are_runtime_although_the_plugin_misses_them(folder: Path) -> None:
    """The plugin only knows an old category name and counts the calls as CPU Exec and Other."""
    told = json.loads((folder / "tensorboard_plugin_figures.json").read_text())["a100_event_sync"]
    ours, _ = average_us(folder / "a100_event_sync.json.gz")
    theirs = told["breakdown_us"]
    for same in ("Kernel", "Memcpy", "DataLoader"):
        assert ours[same] == pytest.approx(theirs[same], abs=1)
    assert theirs["Runtime"] == 0 < ours["Runtime"]
    rest = ("Runtime", "CPU Exec", "Other")
    assert sum(ours[each] for each in rest) == pytest.approx(sum(theirs[each] for each in rest), abs=2)
