"""The figures of a run: steps made by hand, in a usual recording and in benchmark mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge import link
from perfprobe.models.waiting import cpu_each_ns
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.run_value import Measure, RunValue
from tests.analyse.account.test_account import MS, STEPS, Training
from tests.build import Program
from tests.found import find


def test_waiting_for_a_processor_is_taken_out(tmp_path: Path) -> None:
    found = find(link(Training(wait_ms=2).program.recording(tmp_path)), RunValue)[RunValue]
    assert found.steps == STEPS
    assert (found.wall_ns, found.wall_median_ns) == (20 * MS, 20 * MS)
    assert (found.own_ns, found.own_median_ns) == pytest.approx((18 * MS, 18 * MS))
    assert found.step_ns(Measure.WALL) == 20 * MS
    assert found.step_ns(Measure.CPU) is None  # its clock stands still
    assert (found.tensor_bytes, found.device_bytes, found.resident_bytes) == (-1, -1, -1)


def test_the_mean_has_what_the_median_does_not_see(tmp_path: Path) -> None:
    found = find(link(Training(late_ms=10).program.recording(tmp_path)), RunValue)[RunValue]
    assert found.wall_median_ns == 20 * MS
    assert found.wall_ns == pytest.approx(22 * MS)


def live(program: Program, at_ns: int, end_ns: int, **fields: int) -> None:
    """A step that was found while the program ran."""
    row = dict.fromkeys(LiveSteps.dtypes, 0) | {"start_ns": at_ns, "end_ns": end_ns, **fields}
    program.row("live_steps", *row.values(), anew=True)


def test_benchmark_mode_has_steps_without_operators(tmp_path: Path) -> None:
    program = Program(
        recording={"benchmark": True, "warmup": 2},
        start={"monotonic_ns": 0, "cpu_ns": 0},
        stop={"monotonic_ns": 500 * MS, "cpu_ns": 0},
        torch={"threads": 2},
    )
    thread = program.thread(0)
    for number in range(12):
        at_ns = (100 + 30 * number) * MS
        sums = {"cpu_ns": 21 * MS, "waited_ns": 4 * MS, "samples": 8, "rss_bytes": number << 20}
        length = 90 if number < 2 else 30
        live(program, at_ns, at_ns + length * MS, thread=thread, number=number, **sums)
    for time_ns in (0, 500 * MS):
        program.reading(time_ns, {thread: (time_ns // 2, time_ns // 5)})
    found = find(link(program.recording(tmp_path)), RunValue)[RunValue]
    assert (found.steps, found.samples, found.threads, found.resident_bytes) == (10, 8, 2, 11 << 20)
    assert (found.wall_ns, found.own_ns, found.cpu_ns) == pytest.approx((30 * MS, 26 * MS, 21 * MS))
    assert (found.start_up_ns, found.whole_ns) == (100 * MS, 500 * MS)


def test_without_steps_there_is_only_the_run(tmp_path: Path) -> None:
    program = Program(start={"monotonic_ns": 5}, stop={"monotonic_ns": 75})
    found = find(link(program.recording(tmp_path)), RunValue)[RunValue]
    assert (found.steps, found.whole_ns, found.wall_ns, found.start_up_ns) == (0, 70, -1, -1)
    assert found.step_ns(Measure.OWN) is None


def test_cpu_time_is_known_between_the_readings_of_the_thread(tmp_path: Path) -> None:
    program = Program()
    thread, other = program.thread(0), program.thread(1)
    for time_ns in (100, 200, 300):
        program.reading(time_ns, {thread: (time_ns // 4, 0), other: (time_ns, 0)})
    recording = program.recording(tmp_path)
    start_ns, end_ns = np.array([90, 100, 150, 280]), np.array([110, 140, 300, 310])
    found = cpu_each_ns(recording, 0, start_ns, end_ns)
    assert found is not None
    assert np.isnan(found).tolist() == [True, False, False, True]
    assert found[1:3] == pytest.approx([10, 37.5], abs=1)
