"""Programs on a simulated GPU: what NVML says of it once a second is what is recorded and shown."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.gpu_states import GpuStates
from perfprobe.tables.recording import Recording
from tests.collect.test_gpu import Run, launches
from tests.snapshots import Snapshot

NATIVE = Path(__file__).parent.parent / "native"
# Works until the device there on the bus has been read so often.
WORK = """
gpu.standin_state_readings.restype = ctypes.c_uint64

def work_until_read(bus, times):
    while gpu.standin_state_readings(bus) < times:
        work(torch.ones(8), "k", 1_000_000)
        wait()
        time.sleep(0.01)
"""
# Lasts for at least one reading.
BRIEF = "for _ in range(3):\n    work(torch.ones(8), 'k', 1000)\n    wait()\n    time.sleep(0.5)\n"
COLUMNS = ("sm_clock_mhz", "memory_clock_mhz", "power_mw", "temperature_c", "throttle",
           "utilization_percent", "used_bytes")  # fmt: skip


def states(recording: Recording, device: int) -> list[tuple[int, ...]]:
    rows = recording[GpuStates]
    chosen = rows.take(rows.device == device)
    return list(zip(*(getattr(chosen, name).tolist() for name in COLUMNS), strict=True))


@pytest.fixture(scope="module")
def throttled(standin: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two devices in reverse order of the bus, of which the first is throttled, and an unused one."""
    program = f"{WORK}work_until_read(9, 6)\nprint('done')\n"
    settings = {"devices": "3", "buses": "9,3,4", "contexts": "3", "throttle_9": "4"}
    return launches(program, tmp_path_factory.mktemp("throttled"), standin, **settings)


def test_each_device_in_use_is_read_once_a_second(throttled: Run) -> None:
    recording = throttled.recording
    assert throttled.outcome.out == b"done\n"
    assert throttled.losses == {}
    assert set(states(recording, 0)) == {(1009, 2009, 300_009, 49, 4, 90, 9 << 20)}
    assert set(states(recording, 1)) == {(1003, 2003, 300_003, 43, 1, 90, 3 << 20)}
    assert states(recording, 2) == []
    times_ns = recording[GpuStates].time_ns[recording[GpuStates].device == 0]
    assert len(times_ns) >= 6
    assert (times_ns[1:] - times_ns[:-1] > 900_000_000).all()
    assert recording.fact("gpu", "states") == len(recording[GpuStates])


def test_the_first_screen_names_the_throttled_device(throttled: Run, snapshot: Snapshot) -> None:
    results = Results(throttled.recording.path)
    tables = results.document(View())["tables"]
    screen = [row["text"] for row in tables["first_screen"] if "throttled" in row["text"]]
    assert [row["throttled_share"] for row in tables["gpu_state"]] == [1, 0]
    assert [row["maximum_clock_mhz"] for row in tables["gpu_state"]] == [1980, 1980]
    view = results.text(View(view="gpu-state")).splitlines()
    snapshot("\n".join(screen), view="\n".join(line for line in view if "was throttled" in line))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"fail": "nvmlInit_v2=9"}, "NVML does not start (nvmlInit_v2: 9)"),
        ({"nvml": "/nowhere/libnvidia-ml.so.1"}, "/nowhere/libnvidia-ml.so.1 cannot be loaded"),
        ({"nvml": "libm.so.6"}, "libm.so.6 has no nvmlInit_v2"),
    ],
)
def test_without_nvml_the_rest_is_recorded_and_the_reason_is_told(
    settings: dict[str, str], expected: str, tmp_path: Path, standin: Path
) -> None:
    seen = launches(BRIEF, tmp_path, standin, **settings)
    assert [line for line in seen.outcome.said if "NVML" in line or "clocks" in line] == []
    ((reason, count),) = seen.losses.items()
    assert (reason.partition(": ")[2], count) == (expected, 1)
    assert expected in seen.recording.fact("gpu", "state_lack")[0]
    assert len(seen.recording[GpuStates]) == 0
    assert seen.recording.fact("gpu", "counters")["kernels"]["calls"] == 3


def test_what_an_old_nvml_lacks_is_not_measured(tmp_path: Path, standin: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler here: the stand-in for an old NVML cannot be built")
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, NATIVE / "old_nvml.c"], check=True)
    seen = launches(BRIEF, tmp_path, standin, nvml=str(library))
    assert set(states(seen.recording, 0)) == {(-1, -1, 250_000, -1, 4, -1, -1)}
    assert seen.losses == {}


def test_refused_values_are_not_measured_and_refused_readings_are_a_loss(
    tmp_path: Path, standin: Path
) -> None:
    program = f"{WORK}work_until_read(1, 1)\n"
    fail = "nvmlDeviceGetTemperature=3,nvmlDeviceGetPowerUsage=4,nvmlDeviceGetCurrentClocksEventReasons=3"
    seen = launches(program, tmp_path, standin, fail=fail)
    assert set(states(seen.recording, 0)) == {(1001, 2001, -1, -1, -1, 90, 1 << 20)}
    assert seen.losses == {}


def test_memory_of_drivers_before_510_includes_their_reserve(tmp_path: Path, standin: Path) -> None:
    fail = "nvmlDeviceGetMemoryInfo_v2=3"
    seen = launches(f"{WORK}work_until_read(1, 1)\n", tmp_path, standin, fail=fail)
    assert {state[-1] for state in states(seen.recording, 0)} == {481 << 20}


def test_a_reading_without_any_value_is_a_loss(tmp_path: Path, standin: Path, snapshot: Snapshot) -> None:
    names = ("ClockInfo", "Temperature", "PowerUsage", "CurrentClocksEventReasons", "UtilizationRates")
    fail = ",".join(f"nvmlDeviceGet{name}=15" for name in (*names, "MemoryInfo_v2", "MemoryInfo"))
    seen = launches(f"{WORK}work_until_read(1, 1)\n", tmp_path, standin, fail=fail)
    assert len(seen.recording[GpuStates]) == 0
    (reason,) = seen.losses
    snapshot(reason)


def test_the_recording_of_a_program_that_uses_no_gpu_has_no_loss(tmp_path: Path, standin: Path) -> None:
    seen = launches("time.sleep(1.2)\n", tmp_path, standin, contexts="0", fail="nvmlInit_v2=9")
    assert seen.losses == {}
    assert len(storage.read(seen.recording.path)[GpuStates]) == 0
