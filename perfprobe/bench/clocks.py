"""Clocks for a block of calls: CPU time of the critical path, wall time, and CUDA events of a GPU.

CPU time excludes what other programs take, so it is reproducible on a busy machine. The critical path is the
thread that worked longest. This only holds while waiting threads sleep, so measuring processes run with
OMP_WAIT_POLICY=PASSIVE.
"""

from __future__ import annotations

import hashlib
import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from perfprobe.bench.head_start import HeadStart

_THREADS = "/proc/self/task"
_PER_THREAD_CPU = 6  # CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of linux/posix-timers.h
_CANARY = bytes(16384)  # in the L1 cache; about 10 us


@dataclass(frozen=True)
class Block:
    """Times of one call in ns: the times of a block of calls divided by their number.

    Attributes:
        cpu_ns: CPU time of the busiest thread.
        other_ns: CPU time of all other threads.
        faults: minor page faults.
        canary_ns: CPU time of a fixed chain of instructions before the block.
        waited_ns: how long all threads waited for a processor; None if the kernel does not say.
        device_ns: time between the GPU's events; None on the CPU.
        own_ns: CPU time of the calling thread, comparable with recordings.
        starved: the GPU waited for the host, so device_ns contains launching.
    """

    cpu_ns: float
    wall_ns: float
    other_ns: float
    faults: float
    canary_ns: float
    waited_ns: float | None = None
    device_ns: float | None = None
    own_ns: float | None = None
    starved: bool = False

    @property
    def time_ns(self) -> float:
        """Time on the device if there is one, else CPU time."""
        return self.cpu_ns if self.device_ns is None else self.device_ns

    @property
    def longest_ns(self) -> float:
        """The longer of the host's and the device's time."""
        return max(self.cpu_ns, self.device_ns or 0.0)


class Clock(Protocol):
    """Times the calls between `begin` and `end`."""

    def begin(self) -> None:
        """Starts the clocks, as late as possible."""

    def end(self, calls: int) -> Block:
        """Returns the times since `begin`, divided by the number of calls."""


class HostClock:
    """CPU time of every thread of this process, and wall time.

    `begin` and `end` have two steps each, because reading the clocks of all threads takes 20 us a thread. The
    quick clocks are read next to the calls.
    """

    def begin(self) -> None:
        self.prepare()
        self.start()

    def end(self, calls: int) -> Block:
        self.stop()
        return self.finish(calls)

    def prepare(self) -> None:
        """Takes the slow readings before the calls."""
        self._canary_ns = canary_ns()
        self._waited_ns = _waited_ns()
        self._faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self._cpu_ns = threads_cpu_ns()

    def start(self) -> None:
        """Takes the quick readings right before the calls."""
        self._wall_ns = time.monotonic_ns()
        self._own_ns = time.thread_time_ns()

    def stop(self) -> None:
        """Takes the quick readings right after the calls."""
        self._own_ns = time.thread_time_ns() - self._own_ns
        self._wall_ns = time.monotonic_ns() - self._wall_ns

    def finish(self, calls: int) -> Block:
        """Takes the slow readings after the calls; returns the times since `begin`, divided by `calls`."""
        spent = {thread: ns - self._cpu_ns.get(thread, 0) for thread, ns in threads_cpu_ns().items()}
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - self._faults
        waited_ns = _waited_ns()
        # The calling thread's own time excludes reading the other clocks.
        spent[threading.get_native_id()] = self._own_ns
        busiest = max(spent.values())
        waited = None if waited_ns is None or self._waited_ns is None else waited_ns - self._waited_ns
        return Block(
            busiest / calls,
            self._wall_ns / calls,
            (sum(spent.values()) - busiest) / calls,
            faults / calls,
            self._canary_ns,
            None if waited is None else waited / calls,
            own_ns=self._own_ns / calls,
        )


class DeviceClock:
    """Events of a CUDA stream around the block. The host's clocks stop when all is launched.

    The device is kept busy at first, see `HeadStart`. So `device_ns` is the time of the kernels and `wall_ns`
    that of launching. Only the calls and the quick clocks run between the events.
    """

    def __init__(self, cuda: Any, host: HostClock) -> None:
        """cuda: the module `torch.cuda`, after the device was made current."""
        self._cuda, self._host = cuda, host
        self._span = HeadStart(cuda)

    def begin(self) -> None:
        self._cuda.synchronize()
        self._host.prepare()
        self._span.begin()
        self._host.start()

    def end(self, calls: int) -> Block:
        self._span.end()
        self._host.stop()
        host = self._host.finish(calls)
        device_ns = self._span.device_ns() / calls
        return Block(**{**vars(host), "device_ns": device_ns, "starved": self._span.starved})


def unstarved(block: Callable[[], Block]) -> Block:
    """Times a block, again with longer head starts, until the GPU does not wait for the host.

    If that fails, returns the last block, marked as starved.
    """
    for _ in range(HeadStart.TRIES):
        found = block()
        if not found.starved:
            break
    return found


def threads_cpu_ns() -> dict[int, int]:
    """Returns the CPU time of each thread of this process by its kernel id.

    Without /proc, only that of the calling thread.
    """
    found = {}
    for thread in _threads():
        try:
            # The kernel's encoding of https://man7.org/linux/man-pages/man3/pthread_getcpuclockid.3.html
            found[thread] = time.clock_gettime_ns((~thread << 3) | _PER_THREAD_CPU)
        except OSError:
            continue  # it has ended
    return found or {threading.get_native_id(): time.thread_time_ns()}


def canary_ns() -> int:
    """Returns the CPU time of a fixed chain of dependent instructions; it grows if the clock rate drops."""
    return min(_chain_ns(), _chain_ns())  # one of the two may have been interrupted


def _chain_ns() -> int:
    began_ns = time.thread_time_ns()
    hashlib.sha256(_CANARY).digest()
    return time.thread_time_ns() - began_ns


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_THREADS)]
    except OSError:
        return []


def _waited_ns() -> int | None:
    """Returns how long all threads waited in a run queue: the second number of schedstat. None if unknown."""
    total = 0
    try:
        for thread in os.listdir(_THREADS):
            with open(f"{_THREADS}/{thread}/schedstat", "rb") as file:
                total += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return total
