"""The cost of recording, compared with sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.report.rows.own_cost import OwnCost, own_cost
from perfprobe.tables.findings import Hotspots
from tests.build import Program, op
from tests.found import find

META: dict[str, Any] = {
    "start": {"monotonic_ns": 0, "cpu_ns": 1_000_000},
    "stop": {"monotonic_ns": 2_000_000, "cpu_ns": 3_000_000},
    "recording": {"operators": "observer"},
}


def cost(tmp_path: Path, **meta: dict[str, float]) -> OwnCost:
    """The cost for a program with four operators in 2 ms of CPU time."""
    program = Program(**{**META, **meta})
    program.thread(1)
    program.run(*(op("aten::mm", at, at + 5) for at in range(0, 40, 10)))
    findings = find(link(program.recording(tmp_path)), Hotspots)
    return own_cost(findings, findings[Hotspots].totals)


def test_the_cost_per_event_comes_from_the_calibration(tmp_path: Path) -> None:
    found = cost(tmp_path, cost={"event_ns": 200.0})
    assert found == OwnCost(800, 800 / (2_000_000 - 800), None)


@pytest.mark.parametrize(
    ("own_ns", "times"),
    [(250.0, 2.5), (50.0, 1), (0.0, 1), (1e9, 10)],
    ids=["colder", "warmer", "none timed", "no measurement"],
)
def test_the_cost_grows_if_recording_takes_longer_in_the_program(
    tmp_path: Path, own_ns: float, times: float
) -> None:
    found = cost(tmp_path, cost={"event_ns": 200.0, "trial_own_ns": 100.0, "own_ns": own_ns})
    assert found.running_ns == 4 * 200 * times


def test_the_cost_of_other_collectors_is_added(tmp_path: Path) -> None:
    found = cost(
        tmp_path,
        cost={"event_ns": 200.0, "writer_cpu_ns": 10_000},
        sampler={"cpu_ns": 20_000},
        cprofile={"estimated_ns": 300_000},
    )
    assert found.running_ns == 800 + 10_000 + 20_000 + 300_000


def test_start_and_stop_are_separate_from_the_cost_during_the_program(tmp_path: Path) -> None:
    fixed = {"start_cpu_ns": 30_000_000, "torch_cpu_ns": 500_000, "stop_cpu_ns": 4_000_000}
    found = cost(tmp_path, cost={"event_ns": 200.0, **fixed})
    assert found.fixed_ns == 34_500_000
    assert found.running_ns == 800
    # Set-up that begins with `import torch` is between start and stop, but neither part of the program nor of
    # recording.
    assert found.share == pytest.approx(800 / (2_000_000 - 500_000 - 800))


def test_without_a_calibration_there_is_no_estimate(tmp_path: Path) -> None:
    assert cost(tmp_path, cost={"stop_cpu_ns": 7}) == OwnCost(None, None, 7)


def test_a_cost_beyond_the_cpu_time_has_no_share(tmp_path: Path) -> None:
    assert cost(tmp_path, cost={"event_ns": 1e6}).share is None
