"""Clocks, compared with loops whose CPU time another clock measures."""

import mmap
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from perfprobe.bench.clocks import Block, DeviceClock, HostClock, canary_ns, threads_cpu_ns

MS = 1_000_000


def burn(cpu_ns: int) -> None:
    end_ns = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end_ns:
        pass


def test_work_is_cpu_time_and_sleep_is_not() -> None:
    clock = HostClock()
    clock.begin()
    burn(20 * MS)
    time.sleep(0.05)
    block = clock.end(2)
    assert 10 * MS <= block.cpu_ns < 20 * MS
    assert block.wall_ns >= 35 * MS
    assert block.device_ns is None


@pytest.fixture
def helper() -> Iterator[tuple[threading.Event, threading.Event]]:
    """A thread that burns 30 ms on request, reports it, and lives on."""
    start, done, leave = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        start.wait()
        burn(30 * MS)
        done.set()
        leave.wait()

    thread = threading.Thread(target=run)
    thread.start()
    yield start, done
    start.set()
    leave.set()
    thread.join()


def test_the_critical_path_is_the_busiest_thread(helper: tuple[threading.Event, threading.Event]) -> None:
    start, done = helper
    clock = HostClock()
    clock.begin()
    start.set()
    burn(10 * MS)
    done.wait()
    block = clock.end(1)
    assert 30 * MS <= block.cpu_ns < 45 * MS
    assert 10 * MS <= block.other_ns < 25 * MS
    assert block.own_ns is not None
    assert 10 * MS <= block.own_ns < 25 * MS


def test_every_thread_has_a_clock(helper: tuple[threading.Event, threading.Event]) -> None:
    assert len(threads_cpu_ns()) >= 2
    before_ns = threads_cpu_ns()[threading.get_native_id()]
    burn(5 * MS)
    assert threads_cpu_ns()[threading.get_native_id()] - before_ns >= 5 * MS


def test_page_faults_are_the_pages_touched() -> None:
    pages, clock = 1000, HostClock()
    with mmap.mmap(-1, pages * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        clock.begin()
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1
        block = clock.end(1)
    assert pages <= block.faults < pages + 300


def test_the_canary_takes_time() -> None:
    assert canary_ns() > 0


class FakeCuda:
    """Records its calls. Its events are 3 ms apart and complete either at once or after everything else."""

    def __init__(self, *, has_happened: bool = False) -> None:
        self.reported: list[str] = []
        self.has_happened = has_happened

    def synchronize(self) -> None:
        self.reported.append("synchronize")

    def _sleep(self, cycles: int) -> None:
        self.reported.append("sleep")

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802
        assert enable_timing
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda = cuda

    def record(self) -> None:
        self.cuda.reported.append("event")

    def query(self) -> bool:
        self.cuda.reported.append("query")
        return self.cuda.has_happened

    def elapsed_time(self, other: "FakeEvent") -> float:
        return 3.0


class FakeHost(HostClock):
    def __init__(self, reported: list[str]) -> None:
        self.reported = reported

    def prepare(self) -> None:
        self.reported.append("slow readings")

    def start(self) -> None:
        self.reported.append("start")

    def stop(self) -> None:
        self.reported.append("stop")

    def finish(self, calls: int) -> Block:
        self.reported.append("slow readings")
        return Block(10.0, 11.0, 0.0, 0.0, 5.0)


def test_only_fast_clocks_are_read_between_device_events_and_calls() -> None:
    cuda = FakeCuda()
    clock = DeviceClock(cuda, FakeHost(cuda.reported))
    clock.begin()
    cuda.reported.append("calls")
    block = clock.end(1000)
    before = ["synchronize", "slow readings", "sleep", "event", "start"]
    assert cuda.reported == [*before, "calls", "event", "query", "stop", "slow readings", "synchronize"]
    assert block.device_ns == pytest.approx(3000.0)
    assert (block.cpu_ns, block.wall_ns, block.time_ns) == (10.0, 11.0, block.device_ns)


@pytest.mark.parametrize("has_happened", [False, True])
def test_a_device_that_waited_for_the_host_is_reported(has_happened: bool) -> None:
    cuda = FakeCuda(has_happened=has_happened)
    clock = DeviceClock(cuda, FakeHost(cuda.reported))
    clock.begin()
    assert clock.end(1).starved == has_happened
