"""What profiling costs inside the training loop: plain and profiled blocks of steps in turn, in one process.

Each profiled block has a plain block next to it, before it in one round and after it in the next, and the
observers alternate within a round. So drifts (clock speed, neighbours, caches) affect all of them equally.
Before every block a twentieth of it runs unmeasured: first sights and fresh memory belong to start-up, which
the measurements of whole processes show. CPU time is that of the whole process, so perfprobe's writer thread
counts. Starting and stopping are outside of the block; the CPU time of stopping is a separate figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from benchmarks.overhead.observers import OBSERVERS, Observer, torch_profiler
from benchmarks.overhead.tables import Spread, markdown
from benchmarks.workloads import preprocessing, resnet, small_operators, transformer


@dataclass(frozen=True)
class Case:
    """A workload's step, the number of steps in a block, and of RecordFunction events in a step."""

    name: str
    step: Callable[[], object]
    steps: int
    events_a_step: int
    needs_grad: bool

    @property
    def events(self) -> int:
        """RecordFunction events per block."""
        return self.steps * self.events_a_step


@dataclass
class Cost:
    """The pairs measured for one observer: CPU ns of the plain block, the profiled block, and of stopping."""

    plain_ns: list[int] = field(default_factory=list)
    watched_ns: list[int] = field(default_factory=list)
    stop_ns: list[int] = field(default_factory=list)

    def ratio(self) -> Spread:
        """Profiled divided by plain."""
        return Spread.of(
            watched / plain for plain, watched in zip(self.plain_ns, self.watched_ns, strict=True)
        )

    def event_ns(self, events: int) -> Spread:
        """Added CPU time per event."""
        pairs = zip(self.plain_ns, self.watched_ns, strict=True)
        return Spread.of((watched - plain) / events for plain, watched in pairs)

    def stop_event_ns(self, events: int) -> Spread:
        """CPU time of stopping, per event of the block."""
        return Spread.of(stop / events for stop in self.stop_ns)


def count_events(step: Callable[[], object]) -> int:
    """RecordFunction events of one step, as torch.profiler counts them."""
    step()
    with torch_profiler() as profiler:
        step()
    return len(profiler.events())  # type: ignore[attr-defined]


def make_cases(scale: float) -> list[Case]:
    """Blocks of about 50 ms (small operators) or a few steps of the others, times `scale`."""
    loop = small_operators.build(small_operators.parse([]))
    programs = {
        "transformer": (transformer.build(transformer.parse([])).step, 2, True),
        "ResNet-18": (resnet.build(resnet.parse([])).step, 2, True),
        "preprocessing": (preprocessing.build(preprocessing.parse([])).step, 2, False),
    }
    return [
        Case("small operators", loop.step, max(1, round(5000 * scale)), count_events(loop.step), False),
        *(
            Case(name, step, max(1, round(steps * scale)), count_events(step), needs_grad)
            for name, (step, steps, needs_grad) in programs.items()
        ),
    ]


def run_plain(case: Case) -> int:
    """CPU ns of a block, with whatever observer is active."""
    for _ in range(max(1, case.steps // 20)):
        case.step()
    begin = time.process_time_ns()
    for _ in range(case.steps):
        case.step()
    return time.process_time_ns() - begin


def run_watched(case: Case, observer: Observer, folder: Path) -> tuple[int, int]:
    """CPU ns of a profiled block, and of stopping."""
    with observer(folder):
        watched_ns = run_plain(case)
        begin = time.process_time_ns()
    return watched_ns, time.process_time_ns() - begin


def measure(case: Case, pairs: int, folder: Path, observers: Mapping[str, Observer]) -> dict[str, Cost]:
    """The cost of every observer for one case."""
    costs = {name: Cost() for name in observers}
    for observer in observers.values():
        run_watched(case, observer, folder)  # the first use of an observer includes its set-up
    for turn in range(pairs):
        for name, observer in observers.items():
            plain_first = run_plain(case) if turn % 2 == 0 else None
            watched_ns, stop_ns = run_watched(case, observer, folder)
            costs[name].plain_ns.append(run_plain(case) if plain_first is None else plain_first)
            costs[name].watched_ns.append(watched_ns)
            costs[name].stop_ns.append(stop_ns)
    return costs


def table(case: Case, costs: dict[str, Cost]) -> str:
    """One row for each observer."""
    head = ["observer", "CPU time, times plain", "ns per event", "stop, ns per event"]
    rows = [
        [
            name,
            cost.ratio().text(2),
            cost.event_ns(case.events).text(0),
            cost.stop_event_ns(case.events).text(0),
        ]
        for name, cost in costs.items()
    ]
    return markdown(head, rows)


def beyond(case: Case, floor: Cost, ours: Cost) -> Spread:
    """ns per event that one observer takes more than another of the same round."""
    added = [
        [watched - plain for plain, watched in zip(cost.plain_ns, cost.watched_ns, strict=True)]
        for cost in (ours, floor)
    ]
    return Spread.of((mine - empty) / case.events for mine, empty in zip(*added, strict=True))


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure and print every case; returns the results."""
    torch.set_num_threads(1)
    measured: list[dict[str, object]] = []
    for case in make_cases(scale):
        with torch.set_grad_enabled(case.needs_grad):
            costs = measure(case, pairs, folder, OBSERVERS)
        added = beyond(case, costs["null callback with inputs"], costs["perfprobe"]).text(0)
        print(f"\n### {case.name}: {case.steps} steps, {case.events} events a block, {pairs} pairs\n")
        print(table(case, costs))
        print(
            f"\nperfprobe beyond the empty callback with inputs: {added} ns per event",
            flush=True,
        )
        measured.append(
            {
                "workload": case.name,
                "steps": case.steps,
                "events": case.events,
                "observers": {name: vars(cost) for name, cost in costs.items()},
            }
        )
    return measured
