"""The clocks of a block of calls: CPU time of the critical path, wall time beside it, and a GPU's own events.

CPU time does not count what other programs take away, so it is what repeats on a busy machine. The critical
path is the thread that worked longest; that is only true while waiting threads sleep, which is why measuring
processes run with OMP_WAIT_POLICY=PASSIVE.
"""

from __future__ import annotations

import hashlib
import os
import resource
import threading
import time
from dataclasses import dataclass
from typing import Any, Protocol

_THREADS = "/proc/self/task"
_PER_THREAD_CPU = 6  # CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of linux/posix-timers.h
_CANARY = bytes(16384)  # in the L1 cache; about 10 us


@dataclass(frozen=True)
class Block:
    """Times of one call, in ns: those of a block of calls divided by their number.

    cpu_ns: of the busiest thread; other_ns: of all other threads together; waited_ns: of all threads for a
    processor, None where the kernel does not say; faults: page faults without a disk; canary_ns: what a fixed
    chain of instructions took before the block; device_ns: by the GPU's events, None on the CPU; own_ns: CPU
    time of the calling thread alone, which is what recordings have.
    """

    cpu_ns: float
    wall_ns: float
    other_ns: float
    faults: float
    canary_ns: float
    waited_ns: float | None = None
    device_ns: float | None = None
    own_ns: float | None = None

    @property
    def time_ns(self) -> float:
        """The device's time where it worked, else CPU time."""
        return self.cpu_ns if self.device_ns is None else self.device_ns

    @property
    def longest_ns(self) -> float:
        """Of the host or the device."""
        return max(self.cpu_ns, self.device_ns or 0.0)


class Clock(Protocol):
    """Times the calls between `begin` and `end`."""

    def begin(self) -> None:
        """Start, as late as possible."""

    def end(self, calls: int) -> Block:
        """What there was since `begin`, for one of so many calls."""


class HostClock:
    """CPU time of every thread of this process, and wall time."""

    def begin(self) -> None:
        self._canary_ns = canary_ns()
        self._waited_ns = _waited_ns()
        self._faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self._cpu_ns = threads_cpu_ns()
        self._wall_ns = time.monotonic_ns()
        self._own_ns = time.thread_time_ns()

    def end(self, calls: int) -> Block:
        own_ns = time.thread_time_ns() - self._own_ns
        wall_ns = time.monotonic_ns() - self._wall_ns
        spent = {thread: ns - self._cpu_ns.get(thread, 0) for thread, ns in threads_cpu_ns().items()}
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - self._faults
        waited_ns = _waited_ns()
        # The calling thread's own time is without the reading of the other clocks.
        spent[threading.get_native_id()] = own_ns
        busiest = max(spent.values())
        waited = None if waited_ns is None or self._waited_ns is None else waited_ns - self._waited_ns
        return Block(
            busiest / calls,
            wall_ns / calls,
            (sum(spent.values()) - busiest) / calls,
            faults / calls,
            self._canary_ns,
            None if waited is None else waited / calls,
            own_ns=own_ns / calls,
        )


class DeviceClock:
    """Events of a CUDA stream around the block; the host's clocks run until all is launched, not until done.

    The device is kept busy for a moment first, so that kernels shorter than their launch stand close together
    between the events: `device_ns` is then the kernels' time, `wall_ns` that of launching.
    """

    _HEAD_START_CYCLES = 1_000_000  # 0.5 ms at 2 GHz

    def __init__(self, cuda: Any, host: Clock) -> None:
        """cuda: `torch.cuda`, with the device made current."""
        self._cuda, self._host = cuda, host
        self._events = [cuda.Event(enable_timing=True) for _ in range(2)]

    def begin(self) -> None:
        self._cuda.synchronize()
        self._cuda._sleep(self._HEAD_START_CYCLES)
        self._events[0].record()
        self._host.begin()

    def end(self, calls: int) -> Block:
        host = self._host.end(calls)
        self._events[1].record()
        self._cuda.synchronize()
        device_ns = self._events[0].elapsed_time(self._events[1]) * 1e6 / calls  # it gives milliseconds
        return Block(**{**vars(host), "device_ns": device_ns})


def threads_cpu_ns() -> dict[int, int]:
    """CPU time of each thread of this process, by its id in the kernel; of the calling one only elsewhere."""
    found = {}
    for thread in _threads():
        try:
            # https://man7.org/linux/man-pages/man3/pthread_getcpuclockid.3.html, as the kernel codes it.
            found[thread] = time.clock_gettime_ns((~thread << 3) | _PER_THREAD_CPU)
        except OSError:
            continue  # it has ended
    return found or {threading.get_native_id(): time.thread_time_ns()}


def canary_ns() -> int:
    """CPU time of a fixed chain of dependent instructions: it grows when the processor's clock is lowered."""
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
    """How long all threads stood in a run queue: the second number of schedstat."""
    total = 0
    try:
        for thread in os.listdir(_THREADS):
            with open(f"{_THREADS}/{thread}/schedstat", "rb") as file:
                total += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return total
