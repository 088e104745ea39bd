"""What helps a program that waits for DataLoader's workers, and what the first screen says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.merge import link
from perfprobe.report.rows.workers import LoaderRow, loader_rows
from perfprobe.report.section.screen.loader import worker_lines
from perfprobe.report.section.screen.trends import workers_growth_line
from perfprobe.tables.diagnoses import Cause, Diagnoses
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import LoaderRemedy
from perfprobe.tables.workers import Loaders, WorkerFindings, Workers
from tests.build import Program
from tests.report.test_screen import found
from tests.report.test_screen_short import short

READY = {"queued_ppm": 6_700_000, "waiting_ns": 97, "busy_ns": 3}


def row(folder: Path, used: float | None = None, **given: int) -> LoaderRow:
    known: dict[str, Any] = {"workers": 2, "processes": 2, "batches": 10, "span_ns": 100, "most_gain_ns": 5}
    known |= given
    columns = {name: np.array([known.get(name, 0)], dtype) for name, dtype in Loaders.dtypes.items()}
    children = WorkerFindings(Workers.empty(), Loaders(**columns), used, 4)
    (of_loader,) = loader_rows(diagnosed(Findings(link(Program().recording(folder)), children)))
    return of_loader


@pytest.mark.parametrize(
    ("given", "starts", "mostly"),
    [
        ({"processes": 400, "busy_ns": 12, "waiting_ns": 88, "waited_ns": 10}, 200, True),
        ({"processes": 400, "busy_ns": 95, "waiting_ns": 5, "waited_ns": 10, "start_wait_ns": 6}, 200, True),
        ({"processes": 400, "busy_ns": 95, "waiting_ns": 5, "waited_ns": 10, "start_wait_ns": 1}, 200, False),
        ({"processes": 2, "busy_ns": 12, "waiting_ns": 88, "waited_ns": 10, "start_wait_ns": 9}, 1, False),
    ],
)
def test_workers_that_are_started_again_and_again(
    tmp_path: Path, given: dict[str, int], starts: int, mostly: bool
) -> None:
    found = row(tmp_path, **given)
    assert (found.starts, found.verdict.mostly_starts) == (starts, mostly)
    lines = [line.text for line in worker_lines(Findings(link(Program().recording(tmp_path))), found)]
    assert any("persistent_workers=True" in line for line in lines) is mostly
    assert (found.verdict.remedy is LoaderRemedy.PERSISTENT) is mostly


@pytest.mark.parametrize(
    ("given", "used", "remedy"),
    [
        ({"waited_ns": -1}, None, LoaderRemedy.UNKNOWN),
        ({"waited_ns": 1}, None, LoaderRemedy.NOTHING),
        ({"waited_ns": 2}, None, LoaderRemedy.WORKER),
        ({"waited_ns": 2, "most_gain_ns": -1}, None, LoaderRemedy.UNKNOWN),
        ({"waited_ns": 50}, 3.5, LoaderRemedy.WORKER),
        ({"waited_ns": 50}, 3.6, LoaderRemedy.NO_PROCESSOR),
        ({"waited_ns": 50, **READY}, 3.6, LoaderRemedy.RECEIVING),
        ({"waited_ns": 50, **READY, "queued_ppm": 900_000}, None, LoaderRemedy.WORKER),
        ({"waited_ns": 50, **READY, "busy_ns": 30}, None, LoaderRemedy.WORKER),
    ],
)
def test_one_more_worker_helps_while_there_is_waiting_and_a_processor(
    tmp_path: Path, given: dict[str, int], used: float | None, remedy: LoaderRemedy
) -> None:
    assert row(tmp_path, used, **given).verdict.remedy is remedy


@pytest.mark.parametrize(("steps", "batches", "waits"), [(1, 8, False), (1, 0, True), (2, 8, True)])
def test_a_first_step_alone_waits_for_workers_that_start(
    tmp_path: Path, steps: int, batches: int, waits: bool
) -> None:
    columns = {name: np.array([batches], dtype) for name, dtype in Loaders.dtypes.items()}
    children = WorkerFindings(Workers.empty(), Loaders(**columns), None, 4)
    findings = found(short(200, 4, load_us=400, steps=steps), tmp_path)
    (data,) = diagnosed(findings.plus(children))[Diagnoses].of(Cause.DATA)
    assert data.stands_out is waits


@pytest.mark.parametrize(("grown_mib", "is_said"), [(200, True), (128, True), (127, False), (-1, False)])
def test_workers_whose_own_memory_grows(tmp_path: Path, grown_mib: int, is_said: bool) -> None:
    known = {"workers": 2, "processes": 2, "grown_bytes": grown_mib << 20 if grown_mib > 0 else -1}
    columns = {name: np.array([known.get(name, 0)], dtype) for name, dtype in Loaders.dtypes.items()}
    children = WorkerFindings(Workers.empty(), Loaders(**columns), None, 4)
    findings = diagnosed(Findings(link(Program().recording(tmp_path)), children))
    lines = list(workers_growth_line(findings))
    assert (len(lines) == 1) is is_said
    if lines:
        assert f"{grown_mib} MiB" in lines[0].text
