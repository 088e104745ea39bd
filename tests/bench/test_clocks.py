"""Clocks against loops whose CPU time is known by another clock."""

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
    """A thread that burns 30 ms when told to, says so, and lives on."""
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
    """Writes down what it is told; its events are 3 ms apart."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def synchronize(self) -> None:
        self.told.append("synchronize")

    def _sleep(self, cycles: int) -> None:
        self.told.append("sleep")

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802
        assert enable_timing
        return FakeEvent(self.told)


class FakeEvent:
    def __init__(self, told: list[str]) -> None:
        self.record = lambda: told.append("event")

    def elapsed_time(self, other: "FakeEvent") -> float:
        return 3.0


class FakeHost:
    def __init__(self, told: list[str]) -> None:
        self.told = told

    def begin(self) -> None:
        self.told.append("begin")

    def end(self, calls: int) -> Block:
        self.told.append("end")
        return Block(10.0, 11.0, 0.0, 0.0, 5.0)


def test_device_events_stand_around_the_launches_and_are_kept_apart() -> None:
    cuda = FakeCuda()
    clock = DeviceClock(cuda, FakeHost(cuda.told))
    clock.begin()
    block = clock.end(1000)
    order = ["synchronize", "sleep", "event", "begin", "end", "event", "synchronize"]
    assert cuda.told == order
    assert block.device_ns == pytest.approx(3000.0)
    assert (block.cpu_ns, block.wall_ns, block.time_ns) == (10.0, 11.0, block.device_ns)
