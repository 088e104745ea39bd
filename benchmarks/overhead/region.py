"""What watching costs inside the training loop: blocks of steps, plain and watched in turn, in one process.

Each watched block has a plain block right beside it, before it in one round and after it in the next, and
the observers take turns within a round: whatever drifts (clock speed, neighbours, caches) falls on all of
them alike. Every block is preceded by a twentieth of itself that is not measured: first sights and fresh
memory belong to start-up, which the whole processes show. CPU time is the whole process's, so perfprobe's
writer thread counts. Starting and stopping lie outside the block; the CPU time of stopping is given by
itself.
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
    """A workload's step, how many of them make a block, and how many RecordFunction events a step has."""

    name: str
    step: Callable[[], object]
    steps: int
    events_a_step: int
    needs_grad: bool

    @property
    def events(self) -> int:
        """RecordFunction events of a block."""
        return self.steps * self.events_a_step


@dataclass
class Cost:
    """The pairs measured for one observer: CPU ns of the plain block, of the watched one, and of stopping."""

    plain_ns: list[int] = field(default_factory=list)
    watched_ns: list[int] = field(default_factory=list)
    stop_ns: list[int] = field(default_factory=list)

    def ratio(self) -> Spread:
        """Watched over plain."""
        return Spread.of(
            watched / plain for plain, watched in zip(self.plain_ns, self.watched_ns, strict=True)
        )

    def event_ns(self, events: int) -> Spread:
        """Added CPU time of one event."""
        pairs = zip(self.plain_ns, self.watched_ns, strict=True)
        return Spread.of((watched - plain) / events for plain, watched in pairs)

    def stop_event_ns(self, events: int) -> Spread:
        """CPU time of stopping, for each event of the block."""
        return Spread.of(stop / events for stop in self.stop_ns)


def count_events(step: Callable[[], object]) -> int:
    """RecordFunction events of one step, as torch.profiler counts them."""
    step()
    with torch_profiler() as profiler:
        step()
    return len(profiler.events())  # type: ignore[attr-defined]


def make_cases(scale: float) -> list[Case]:
    """Blocks of about 50 ms (small operators) and some steps of the others, times `scale`."""
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
    """CPU ns of a block, whoever watches."""
    for _ in range(max(1, case.steps // 20)):
        case.step()
    begin = time.process_time_ns()
    for _ in range(case.steps):
        case.step()
    return time.process_time_ns() - begin


def run_watched(case: Case, observer: Observer, folder: Path) -> tuple[int, int]:
    """CPU ns of a watched block, and of stopping."""
    with observer(folder):
        watched_ns = run_plain(case)
        begin = time.process_time_ns()
    return watched_ns, time.process_time_ns() - begin


def measure(case: Case, pairs: int, folder: Path, observers: Mapping[str, Observer]) -> dict[str, Cost]:
    """The cost of every observer on one case."""
    costs = {name: Cost() for name in observers}
    for observer in observers.values():
        run_watched(case, observer, folder)  # the first use of an observer pays for its set-up
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
    head = ["observer", "CPU time, times plain", "ns an event", "stop, ns an event"]
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
    """ns an event that one observer takes beyond another of the same round."""
    added = [
        [watched - plain for plain, watched in zip(cost.plain_ns, cost.watched_ns, strict=True)]
        for cost in (ours, floor)
    ]
    return Spread.of((mine - empty) / case.events for mine, empty in zip(*added, strict=True))


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure and print every case; returns what was measured."""
    torch.set_num_threads(1)
    measured: list[dict[str, object]] = []
    for case in make_cases(scale):
        with torch.set_grad_enabled(case.needs_grad):
            costs = measure(case, pairs, folder, OBSERVERS)
        added = beyond(case, costs["null callback with inputs"], costs["perfprobe"]).text(0)
        print(f"\n### {case.name}: {case.steps} steps, {case.events} events a block, {pairs} pairs\n")
        print(table(case, costs))
        print(
            f"\nperfprobe beyond the empty callback with inputs: {added} ns an event",
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
