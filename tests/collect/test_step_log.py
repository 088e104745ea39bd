"""What is recorded of every step by default, compared with what the program reads itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from perfprobe.tables import storage
from perfprobe.tables.live_steps import LiveSteps

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this kernel does not tell how long threads wait"
)

# A step is the time between two ends of the optimizer's step. The program keeps 8 MiB more in each, and
# sleeps in every second one.
PROGRAM = """
import gc, json, os, sys, threading, time
import torch

def readings():
    schedstat = open(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    with schedstat, open("/proc/self/statm") as statm:
        waited_ns = int(schedstat.read().split()[1])
        rss_bytes = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return [time.monotonic_ns(), time.thread_time_ns(), waited_ns, rss_bytes]

weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
kept, found = [], []
for number in range(12):
    kept.append(bytearray(os.urandom(1)) * (8 << 20))
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
    if number % 2:
        time.sleep(0.05)
    weight.sum().backward()
    optimizer.step()
    found.append(readings())
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


class Own(NamedTuple):
    """What the program read at the ends of its steps, and what the recording says of them."""

    read: list[list[int]]
    steps: LiveSteps


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Own:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "train.py").write_text(PROGRAM)
    words = ["-m", "perfprobe", "run", "-q", "-o", "run.perfprobe", "train.py", "read.json"]
    subprocess.run([sys.executable, *words], cwd=folder, check=True)
    recording = storage.read(folder / "run.perfprobe")
    read = json.loads((folder / "read.json").read_text())
    return Own(read, recording[LiveSteps])


def test_every_step_behind_the_first_has_a_row(own: Own) -> None:
    assert own.steps.number.tolist() == list(range(1, 12))
    assert own.steps.is_recorded.all()
    for row, (before, after) in enumerate(zip(own.read, own.read[1:], strict=False)):
        assert own.steps.start_ns[row] <= before[0]  # the program reads after the step has ended
        assert before[0] < own.steps.end_ns[row] <= after[0]


def test_processor_time_and_waiting_are_those_of_the_thread(own: Own) -> None:
    for row, (before, after) in enumerate(zip(own.read[1:], own.read[2:], strict=False), start=1):
        reading_ns = 2_000_000  # the program's own, which is not in both
        assert abs(own.steps.cpu_ns[row] - (after[1] - before[1])) < reading_ns
        assert own.steps.cpu_ns[row] >= 20_000_000
    first, last = own.read[1], own.read[-1]
    waited_ns = last[2] - first[2]
    assert abs(int(own.steps.waited_ns[1:].sum()) - waited_ns) < 2_000_000 + 0.05 * waited_ns


def test_sleeping_is_neither_processor_time_nor_waiting(own: Own) -> None:
    for row in range(2, len(own.steps), 2):  # rows from step 1 on: those of odd number sleep
        slept_ns = own.steps.end_ns[row] - own.steps.start_ns[row]
        slept_ns -= own.steps.cpu_ns[row] + own.steps.waited_ns[row]
        assert (
            slept_ns >= 40_000_000
        )  # of 50 ms: clock and file are read one after the other, on a busy machine


def test_memory_is_that_of_the_process_at_the_end(own: Own) -> None:
    for row, (_, _, _, rss_bytes) in enumerate(own.read[1:]):
        assert abs(own.steps.rss_bytes[row] - rss_bytes) < 4 << 20
    grown = int(own.steps.rss_bytes[-1] - own.steps.rss_bytes[0])
    assert grown >= 10 * (8 << 20) - (4 << 20)


def test_steps_shorter_than_a_reading_of_memory_have_none(tmp_path: Path) -> None:
    source = PROGRAM.replace("+ 0.02", "+ 0.001").replace("0.05", "0.0")
    (tmp_path / "train.py").write_text(source.replace("range(12)", "range(60)").replace("8 << 20", "8"))
    words = ["-m", "perfprobe", "run", "-q", "-o", "run.perfprobe", "train.py", "read.json"]
    subprocess.run([sys.executable, *words], cwd=tmp_path, check=True)
    steps = storage.read(tmp_path / "run.perfprobe")[LiveSteps]
    read = steps.take(steps.rss_bytes >= 0)
    assert 1 <= len(read) < len(steps)
    assert (read.end_ns[1:] - read.end_ns[:-1]).min() >= 10_000_000
