"""Which samples show a waiting thread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfprobe.models.waiting import stood_still, waited_within_ns
from perfprobe.tables.live_steps import LiveSteps
from tests.build import Program


@pytest.mark.parametrize(
    ("held_up", "waits"),
    [
        (None, [True, True, False, True]),  # 1 %, 10 %, 30 % of the time; not known
        (0.5, [True, False, False, True]),  # it could only run half of the time
        (0.99, [False, False, False, True]),
        (7.0, [False, False, False, True]),  # invalid
    ],
)
def test_a_thread_that_hardly_ran_was_waiting(
    tmp_path: Path, held_up: float | None, waits: list[bool]
) -> None:
    meta = {"start": {"monotonic_ns": 0}, "stop": {"monotonic_ns": 1000}}
    if held_up is not None:
        meta["processors"] = {"main_waited_ns": int(held_up * 1000)}
    recording = Program(**meta).recording(tmp_path)
    cpu_ns, time_ns = np.array([1, 10, 30, -1]), np.full(4, 100)
    assert stood_still(recording, cpu_ns, time_ns).tolist() == waits


def test_without_cpu_time_no_sample_counts_as_waiting(tmp_path: Path) -> None:
    recording = Program().recording(tmp_path)
    assert stood_still(recording, np.array([-1, -1]), np.array([5, 5])).tolist() == [False, False]


@pytest.mark.parametrize("seed", range(20))
def test_waiting_is_that_of_steps_where_there_are_any(seed: int, tmp_path: Path) -> None:
    """Compared with a sum over single nanoseconds."""
    random = np.random.default_rng(seed)
    length, readings = 400, np.sort(random.choice(401, 5, replace=False))
    sums = np.sort(random.integers(0, 200, 5))
    bounds = np.sort(random.choice(401, 6, replace=False))
    program = Program()
    thread = program.thread(0)
    other = program.thread(1)
    for time_ns, wait_ns in zip(readings.tolist(), sums.tolist(), strict=True):
        program.reading(time_ns, {thread: (0, wait_ns), other: (0, 7 * wait_ns)})
    each_ns = np.zeros(length)
    for moment in range(length):
        at = int(np.searchsorted(readings, moment, "right"))
        if 0 < at < len(readings):
            each_ns[moment] = (sums[at] - sums[at - 1]) / (readings[at] - readings[at - 1])
    for start_ns, end_ns in bounds.reshape(3, 2).tolist():
        waited_ns = int(random.integers(-1, 50))
        row = {"start_ns": start_ns, "end_ns": end_ns, "thread": thread, "waited_ns": waited_ns}
        program.row("live_steps", *(dict.fromkeys(LiveSteps.dtypes, 0) | row).values(), anew=True)
        if waited_ns >= 0:
            each_ns[start_ns:end_ns] = waited_ns / (end_ns - start_ns)
    recording = program.recording(tmp_path)
    for start_ns, end_ns in random.integers(0, length, (10, 2)).tolist():
        found = waited_within_ns(recording, 0, np.array([start_ns]), np.array([end_ns]))
        assert found is not None
        assert abs(found - each_ns[start_ns:end_ns].sum()) < 1.001
