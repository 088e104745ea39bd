"""Traces of torch.profiler compared: a loader without workers, and the same program with four."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfprobe import comparing
from perfprobe.comparing import Side
from perfprobe.diagnose.changes import changes
from perfprobe.models.compared import Comparison
from perfprobe.runs import Run
from perfprobe.tables.steps import StepPhase
from tests.snapshots import Snapshot

MS = 1_000_000
NAMES = ("v100_resnet50_num_workers_4", "v100_resnet50_num_workers_0")


@pytest.fixture(scope="module")
def found() -> Comparison:
    folder = os.environ.get("PERFPROBE_TRACES")
    paths = [Path(folder or "/nowhere") / f"{name}.json.gz" for name in NAMES]
    if not all(path.is_file() for path in paths):
        pytest.skip("PERFPROBE_TRACES names no folder with these traces")
    return comparing.compared(*(Side(path.name, [Run(str(path))]) for path in paths))


def test_data_loading_is_where_the_step_differs(found: Comparison) -> None:
    short = changes(found)
    data = found.phases[StepPhase.DATA]
    assert data.after == pytest.approx(69 * MS, rel=0.05)
    assert data.before < 2 * MS
    assert short.phase is StepPhase.DATA or (short.where is not None and short.where.phase is StepPhase.DATA)
    assert found.median_ns is not None
    assert found.median_ns.after / found.median_ns.before == pytest.approx(1.40, abs=0.01)


def test_kernels_are_equal_and_copies_are_not(found: Comparison) -> None:
    kernels, copy = found.figures["gpu_kernels"], found.figures["gpu_copy"]
    assert sorted(kernels[:2]) == pytest.approx([98.6 * MS, 99.1 * MS], rel=0.01)
    assert sorted(copy[:2]) == pytest.approx([0.96 * MS, 1.58 * MS], rel=0.03)


def test_parts_sum_to_the_difference(found: Comparison) -> None:
    assert found.step_ns is not None
    assert found.unattributed_ns is not None
    known = sum(row.time_ns.by for row in found.rows)
    assert known + found.unattributed_ns == pytest.approx(found.step_ns.by)
    assert sum(each.by for each in found.phases.values()) == pytest.approx(known, abs=10)


def test_screen(found: Comparison, snapshot: Snapshot) -> None:
    snapshot("\n".join(comparing.text(found, width=width) for width in (80, 200)))
