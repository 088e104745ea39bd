"""Clocks, power, temperature and throttling of GPUs in the report, in JSON and on the first screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.analyse.gpu_readings import add_reading
from tests.build import Program, op
from tests.report.test_ranges import section
from tests.snapshots import Snapshot

S = 1_000_000_000


def program(*throttle: int, **fields: int) -> Program:
    """A GPU that works all the time, with a reading a second for each of these masks of reasons."""
    wall_ns = (len(throttle) + 1) * S
    devices = [{"name": "NVIDIA H200", "clock_khz": 1_980_000}, {"name": "NVIDIA H200"}]
    facts = {"start": {"monotonic_ns": 0, "cpu_ns": 0}, "stop": {"monotonic_ns": wall_ns, "cpu_ns": wall_ns}}
    made = Program(gpu={"devices": devices}, **facts)
    made.thread(1)
    made.run(op("aten::mm", 0, S, stack=made.stack("/p/train.py:9 main")))
    made.api_call("cudaLaunchKernel", 1, 2, 1)
    made.kernel("gemm", 0, wall_ns, 1)
    for second, mask in enumerate(throttle):
        add_reading(made, (second + 1) * S, **{"throttle": mask, **fields})
    return made


def throttled_lines(results: Results) -> list[str]:
    """The lines of the first screen about it, from JSON, which leaves out none."""
    texts = [row["text"] for row in results.document(View())["tables"]["first_screen"]]
    return [text for text in texts if "throttled" in text]


def test_the_section_and_json_have_the_same_figures(tmp_path: Path, snapshot: Snapshot) -> None:
    made = program(4, 4, 0x24, 0, 1, power_mw=698_400, sm_clock_mhz=1605, temperature_c=81)
    results = Results(made.recording(tmp_path).path)
    text = results.text(View(view="gpu-state"))
    cells = section(text + "\n", "GPU state")[2]
    for cell in (" 60.0 % ", " 20.0 % ", " 1,605 MHz ", " 1,980 MHz ", " 698 W ", " 81 C "):
        assert cell in cells
    (row,) = results.document(View())["tables"]["gpu_state"]
    assert (row["device"], row["name"], row["readings"], row["in_use"]) == (0, "NVIDIA H200", 5, 5)
    assert (row["throttled_share"], row["power_cap_share"], row["thermal_slowdown_share"]) == (0.6, 0.6, 0.2)
    assert (row["power_brake_share"], row["cause"]) == (0, "power cap")
    assert (row["sm_clock_mhz"], row["maximum_clock_mhz"], row["power_mw"]) == (1605, 1980, 698_400)
    snapshot(text)


@pytest.mark.parametrize(
    ("mask", "cause"),
    [(0x4, "power cap"), (0x20, "thermal slowdown"), (0x48, "thermal slowdown"), (0x88, "power brake"),
     (0x8, "hardware slowdown")],
)  # fmt: skip
def test_the_first_screen_says_why_the_gpu_was_throttled(
    mask: int, cause: str, tmp_path: Path, snapshot: Snapshot
) -> None:
    results = Results(program(mask, mask, mask, 0, 0).recording(tmp_path).path)
    (line,) = throttled_lines(results)
    assert f": {cause}; " in line
    assert line.partition(";")[0] in results.text(View())
    snapshot(line)


@pytest.mark.parametrize(
    "throttle",
    [
        [4, 4, 4, 4],  # too few readings
        [4, *[0] * 10],  # too seldom
        [0x1, 0x2, 0x10, 0x100, 0x2],  # idle, or clocks that somebody has set
        [-1] * 9,
    ],
)
def test_the_first_screen_is_silent_otherwise(throttle: list[int], tmp_path: Path) -> None:
    assert throttled_lines(Results(program(*throttle).recording(tmp_path).path)) == []


def test_the_first_screen_names_the_gpu_if_there_are_several(tmp_path: Path, snapshot: Snapshot) -> None:
    made = program(*[0] * 6)
    for second in range(6):
        add_reading(made, (second + 1) * S, device=1, throttle=0x20)
    (line,) = throttled_lines(Results(made.recording(tmp_path).path))
    snapshot(line)


def test_reasons_that_were_not_read_are_not_zero(tmp_path: Path) -> None:
    results = Results(program(*[-1] * 5, power_mw=-1, sm_clock_mhz=-1).recording(tmp_path).path)
    (row,) = results.document(View())["tables"]["gpu_state"]
    assert (row["judged"], row["throttled_share"], row["cause"], row["power_mw"]) == (0, None, None, None)
    assert "%" not in section(results.text(View(view="gpu-state")) + "\n", "GPU state")[2]


def test_without_readings_the_view_says_what_is_missing(tmp_path: Path, snapshot: Snapshot) -> None:
    snapshot(Results(program().recording(tmp_path).path).text(View(view="gpu-state")))
