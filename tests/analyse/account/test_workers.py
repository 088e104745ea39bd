"""Waiting for DataLoader's workers that wait for a processor, by hand-made sums of the scheduler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.account.leaves import new_leaves
from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.workers import held_up_by_workers
from perfprobe.merge.children import worker_times
from perfprobe.tables.account import LeafKind
from perfprobe.tables.children import ChildTimes
from perfprobe.tables.steps import StepPhase
from tests.build import Program
from tests.report.test_text import META

MS = 1_000_000
DATA_FRAME, LINE_FRAME = 3, 4
WORKER, FETCH = (
    "/torch/utils/data/_utils/worker.py:350 _worker_loop",
    "/torch/utils/data/_utils/fetch.py:54 fetch",
)


def looks(still_ms: list[int]) -> Looks:
    """Samples in data, 100 ms each from 0 on, of which the thread slept so long."""
    count, ms = len(still_ms), np.arange(len(still_ms)) * 100
    none = {name: np.zeros(count, dtype) for name, dtype in Looks.dtypes.items()}
    return Looks(
        **none
        | {
            "start_ns": ms * MS,
            "end_ns": (ms + 100) * MS,
            "phase": np.full(count, StepPhase.DATA, np.int8),
            "frame": np.full(count, DATA_FRAME, np.int32),
            "still_ns": np.array(still_ms, np.int64) * MS,
        }
    )


def worker(runs_ms: int, waits_ms: int, slept: float = 0) -> ChildTimes:
    """One that runs and waits so long in each 100 ms of the first 300."""
    each = np.arange(4)
    return ChildTimes(each * 100 * MS, each * runs_ms * MS, each * waits_ms * MS, 1000, int(1000 * slept))


@pytest.mark.parametrize(
    ("workers", "others", "held_ms"),
    [
        ([worker(10, 90)], 1.0, 3 * 80 * 0.9),
        ([worker(10, 90)], 0.5, 3 * 80 * 0.45),  # half of what ran was the program's own
        ([worker(10, 90)], 0.0, 0),
        ([worker(100, 0)], 1.0, 0),  # it worked all the time
        ([worker(1, 9, slept=0.9)], 1.0, 3 * 80 * 0.09),  # it waited for a disk
        ([worker(10, 90), worker(100, 0)], 1.0, 3 * 80 * 0.45),
        ([], 1.0, 0),
    ],
)
def test_waiting_for_starved_workers_is_not_data(
    workers: list[ChildTimes], others: float, held_ms: float
) -> None:
    phase, frame = (
        np.array([StepPhase.DATA, StepPhase.DATA, StepPhase.OTHER], np.int8),
        [DATA_FRAME, 9, DATA_FRAME],
    )
    leaves = new_leaves(phase, frame=np.array(frame, np.int32), time_ns=np.full(3, 250 * MS))
    assert leaves.kind.tolist() == [LeafKind.DATA, LeafKind.DATA, LeafKind.LINE]
    found = held_up_by_workers(leaves, looks([80, 80, 80]), workers, others)
    assert (found / MS).tolist() == pytest.approx([held_ms, 0, 0])


def test_where_a_worker_ends_it_waits_as_usual() -> None:
    leaves = new_leaves(
        np.array([StepPhase.DATA], np.int8), frame=np.array([DATA_FRAME]), time_ns=np.array([MS * 900])
    )
    found = held_up_by_workers(leaves, looks([0, 0, 0, 0, 50]), [worker(20, 80)], 1.0)
    assert found[0] / MS == pytest.approx(50 * 0.8)


def test_sums_of_a_worker_are_those_of_its_samples(tmp_path: Path) -> None:
    child = Program(**META)
    child.thread(1)
    child.meta |= {"program": {**META["program"], "pid": 1001}}
    child.row("thread_times", 100 * MS, 0, 10 * MS, 30 * MS, 0, 0, 0)
    child.sample(100 * MS, 200 * MS, WORKER, FETCH, cpu_ns=20 * MS, wait_ns=50 * MS)
    child.sample(200 * MS, 900 * MS, WORKER, cpu_ns=0, wait_ns=0)
    other = Program(**META)
    other.thread(1)
    other.sample(0, MS, "/p/train.py:3 main", cpu_ns=MS, wait_ns=0)
    paths = (tmp_path / "child", tmp_path / "other")
    for path in paths:
        path.mkdir()
    found = worker_times([child.recording(paths[0]), other.recording(paths[1])])
    assert [each.time_ns.tolist() for each in found] == [[60 * MS, 100 * MS, 200 * MS, 900 * MS]]
    assert found[0].run_ns.tolist() == [0, 10 * MS, 30 * MS, 30 * MS]
    assert found[0].wait_ns.tolist() == [0, 30 * MS, 80 * MS, 80 * MS]
    assert (found[0].worked_ns, found[0].slept_ns) == (100 * MS, 30 * MS)
