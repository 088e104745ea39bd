"""A simulation of a GPU and the host that launches on it: one stream, its events, and the host's costs.

Nothing really waits: a clock is advanced. The host's costs are those of a server with many threads: reading
the state of a thread through /proc takes 18 us (0.3 ms for 17 threads).
"""

from __future__ import annotations

from typing import Any

import pytest

from perfprobe.bench import clocks, head_start

LAUNCH_NS = 5_000
READ_THREAD_NS = 18_000
THREAD_CLOCK_NS = 2_000  # reading the CPU clock of another thread
CALL_NS = 1_000  # a driver call that launches nothing
MOST_PENDING = 1024  # launches that a stream accepts before the host must wait


class Simulation:
    """The part of `torch.cuda` that clocks use. `now_ns` is the clock of host and device."""

    MHZ = 1_980

    def __init__(self, threads: int = 25) -> None:
        self.now_ns = 1e9
        self.threads = threads
        self.sleeps: list[int] = []
        self._ends_ns: list[float] = []

    def launch(self, duration_ns: float, launch_ns: float = LAUNCH_NS) -> float:
        """Launches work behind all earlier work; returns when it ends."""
        self.now_ns += launch_ns
        if len(self._ends_ns) >= MOST_PENDING:
            self.now_ns = max(self.now_ns, self._ends_ns[-MOST_PENDING])
        began_ns = max(self.now_ns, self._ends_ns[-1] if self._ends_ns else 0.0)
        self._ends_ns.append(began_ns + duration_ns)
        return self._ends_ns[-1]

    def synchronize(self, device: object = None) -> None:
        self.now_ns = max(self.now_ns + CALL_NS, self._ends_ns[-1] if self._ends_ns else 0.0)

    def _sleep(self, cycles: int) -> None:
        self.sleeps.append(cycles)
        self.launch(cycles * 1e3 / self.MHZ)

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802
        assert enable_timing
        return Event(self)

    def read_threads(self) -> None:
        """The host reads a file for each of its threads."""
        self.now_ns += READ_THREAD_NS * self.threads


class Event:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.at_ns = 0.0

    def record(self) -> None:
        self.at_ns = self._simulation.launch(0.0, CALL_NS)

    def query(self) -> bool:
        self._simulation.now_ns += CALL_NS
        return self.at_ns <= self._simulation.now_ns

    def elapsed_time(self, other: Event) -> float:
        assert max(self.at_ns, other.at_ns) <= self._simulation.now_ns, "both must have happened"
        return (other.at_ns - self.at_ns) / 1e6


class _Time:
    """The module `time` with the simulation's clock."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def monotonic_ns(self) -> int:
        return int(self._simulation.now_ns)

    thread_time_ns = monotonic_ns


def simulated(patch: pytest.MonkeyPatch, threads: int = 25) -> Simulation:
    """While this context is open, readings of the host's clocks take simulated time and return it."""
    simulation = Simulation(threads)

    def waited_ns() -> int:
        simulation.read_threads()
        return 0

    def cpu_ns() -> dict[int, int]:
        simulation.now_ns += THREAD_CLOCK_NS * threads
        return {thread: 0 for thread in range(threads)}

    def canary_ns() -> int:
        simulation.now_ns += 20_000
        return 10_000

    patch.setattr(clocks, "_waited_ns", waited_ns)
    patch.setattr(clocks, "threads_cpu_ns", cpu_ns)
    patch.setattr(clocks, "canary_ns", canary_ns)
    patch.setattr(clocks, "time", _Time(simulation))
    patch.setattr(head_start, "time", _Time(simulation))
    return simulation
