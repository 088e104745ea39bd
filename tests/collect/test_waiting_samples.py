"""How long threads waited for a processor, by sample, beside processes that keep it busy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import perfprobe
from perfprobe.tables import storage
from perfprobe.tables.events import Threads
from perfprobe.tables.processors import WaitReadings
from perfprobe.tables.python import Samples

SPIN_NS = 800_000_000
UNTOLD_NS = 200_000  # shorter waits are told with the next
SLEEP_S = 0.8

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this kernel does not tell how long threads wait"
)


@pytest.fixture
def crowded() -> Iterator[None]:
    """Two processes that are always busy, on the one processor that this process may use meanwhile."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
        os.sched_setaffinity(0, allowed)


def spin() -> int:
    """Returns the time in which this thread had no processor, by its clocks: it never sleeps."""
    start_ns, start_cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
    while time.perf_counter_ns() - start_ns < SPIN_NS:
        pass
    return time.perf_counter_ns() - start_ns - (time.thread_time_ns() - start_cpu_ns)


@pytest.mark.usefixtures("crowded")
def test_a_spinning_thread_waits_for_what_it_did_not_run(tmp_path: Path) -> None:
    path = tmp_path / "r.perfprobe"
    with perfprobe.profile(path):
        waited_ns = spin()
    recording = storage.read(path)
    samples = recording[Samples]
    own = samples.take(recording[Threads].os_thread[samples.thread] == threading.get_native_id())
    known = own.take(own.wait_ns >= 0)
    assert waited_ns > SPIN_NS // 5
    assert known.wait_ns.sum() == pytest.approx(waited_ns, rel=0.2)
    time_ns = known.end_ns - known.start_ns
    assert ((known.wait_ns - time_ns).clip(0).sum()) < 0.1 * waited_ns  # within the samples it is booked to


def test_a_sleeping_thread_does_not_wait_for_a_processor(tmp_path: Path) -> None:
    path = tmp_path / "r.perfprobe"
    with perfprobe.profile(path):
        sleeper = threading.Thread(target=time.sleep, args=(SLEEP_S,), name="sleeper")
        sleeper.start()
        sleeper.join()
    recording = storage.read(path)
    samples = recording[Samples]
    own = samples.take((samples.wait_ns >= 0) & (samples.looks > 0))
    assert own.wait_ns.sum() < SLEEP_S * 1e9 / 2


@pytest.mark.usefixtures("crowded")
def test_a_thread_that_runs_operators_reads_its_own_waits(tmp_path: Path) -> None:
    """Compared with the scheduler's sum, which the program reads before its operators and after them."""
    square, path = torch.randn(256, 256), tmp_path / "r.perfprobe"

    def waited_ns() -> int:
        schedstat = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        return int(schedstat.read_text().split()[1])

    with perfprobe.profile(path):
        square.sum()  # reads for the first time
        before_ns = waited_ns()
        end_s = time.perf_counter() + 1.5
        while time.perf_counter() < end_s:
            square.mm(square)
        after_ns = waited_ns()
        time.sleep(0.01)
        square.sum()
    readings = storage.read(path)[WaitReadings]
    assert (readings.start_ns[1:] >= readings.end_ns[:-1]).all()
    assert (readings.wait_ns <= readings.end_ns - readings.start_ns + UNTOLD_NS).all()
    assert after_ns - before_ns > 100_000_000
    assert int(readings.wait_ns.sum()) == pytest.approx(after_ns - before_ns, rel=0.1)
