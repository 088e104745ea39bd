"""Which samples show a waiting thread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfprobe.models.waiting import stood_still
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
