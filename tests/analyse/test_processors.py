"""Who used the processors that threads waited for, with hand-made readings of two processors."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from perfprobe.merge import link
from perfprobe.models.waiting import HeldUp, held_up, waited_ns
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section import threads as section
from perfprobe.report.section.block import Heading, Table
from perfprobe.tables.processors import Processors, ProcessorWindows
from tests.build import Program
from tests.found import find
from tests.snapshots import Snapshot

MAIN = 1000  # the OS number of thread 0, as made by `Program.thread`
SECOND_NS = 1_000_000_000
MS = 1_000_000

Times = dict[int, tuple[int, int]]


def program(*readings: tuple[Times, dict[str, int]], **meta: Any) -> Program:
    """Readings a second apart: each thread's run and wait in ms, other figures in ms too, except counts."""
    made = Program(program={"pid": MAIN}, start={"monotonic_ns": 0}, **meta)
    made.meta["stop"] = {"monotonic_ns": (len(readings) - 1) * SECOND_NS}
    for number in range(6):
        made.thread(number, "worker")
    made.thread(6, "perfprobe-own")
    made.thread(7, "perfprobe")  # the program's threads have this name under the command perfprobe
    for at, (threads, fields) in enumerate(readings):
        in_ns = {name: value if name == "processors" else value * MS for name, value in fields.items()}
        times = {number: (run * MS, wait * MS) for number, (run, wait) in threads.items()}
        made.reading(at * SECOND_NS, times, **in_ns)
    return made


def found(made: Program, folder: Path) -> Processors:
    return find(link(made.recording(folder)), Processors)[Processors]


def in_ms(processors: Processors) -> tuple[float | None, ...]:
    """Waiting time: total, for the program itself, for neighbours, unknown."""
    kinds = (processors.waited_ns, processors.own_ns, processors.others_ns, processors.unknown_ns)
    return tuple(None if time_ns is None else time_ns / MS for time_ns in kinds)


NOTHING: dict[str, int] = {"busy_ns": 0, "pressure_ns": 0, "children_cpu_ns": 0}


def second(threads: Times, busy: int, pressure: int = 1000, **fields: int) -> tuple[Times, dict[str, int]]:
    return threads, {"busy_ns": busy, "pressure_ns": pressure, "children_cpu_ns": 0, **fields}


FOUR = {number: (500, 500) for number in range(4)}


@pytest.mark.parametrize(
    ("after", "waited", "own", "neighbours"),
    [
        (second({0: (900, 1)}, 905, pressure=1), 1, 0, 1),  # no other process: negligible
        (second(FOUR, 2000), 2000, 2000, 0),  # four threads on two processors
        (second({0: (400, 600)}, 2000), 600, 0, 600),  # one thread beside four busy loops
        (second({0: (400, 600)}, 900), 600, 0, 500),  # neighbours ran 500 ms, so they explain at most that
        (second({0: (400, 600)}, 2000, pressure=0), 600, 0, 0),  # nobody waited, according to the machine
        # Four threads beside two busy loops: what they need beyond two processors is their own waiting.
        (second({number: (333, 667) for number in range(4)}, 2000), 2668, 2000, 668),
        # Bursts without neighbours: no more than two processors are needed, and nobody else runs.
        (second({number: (50, 50) for number in range(4)}, 200), 200, 200, 0),
        # One thread and the workers that it started.
        (second({0: (500, 500)}, 2000, children_cpu_ns=1500), 500, 500, 0),
        # Waiting of perfprobe's own threads does not count for the program.
        (second({0: (900, 0), 6: (5, 300)}, 905), 0, 0, 0),
    ],
)
def test_waiting_is_divided_between_program_and_neighbours(
    tmp_path: Path, after: tuple[Times, dict[str, int]], waited: int, own: int, neighbours: int
) -> None:
    before = {number: (0, 0) for number in after[0]}
    processors = found(program((before, NOTHING), after), tmp_path)
    expected = (waited, own, neighbours, waited - own - neighbours)
    assert in_ms(processors) == pytest.approx(expected, abs=3)


def test_waiting_for_a_quota_counts_for_the_program(tmp_path: Path) -> None:
    after = second({0: (500, 500)}, 500, throttled_ns=480)
    made = program(({0: (0, 0)}, {**NOTHING, "throttled_ns": 0}), after, host={"cgroup_cores": 0.5})
    processors = found(made, tmp_path)
    assert (processors.affinity_cores, processors.allowed_cores) == (2, 0.5)
    assert processors.throttled_ns == 480 * MS
    # A single thread has no other thread of the program to wait for, and nobody else ran.
    assert in_ms(processors) == (500, 480, 0, 20)


@pytest.mark.parametrize("lacks", [{}, {"machine": "/proc/stat: Permission denied"}])
def test_without_machine_readings_waiting_has_no_cause(tmp_path: Path, lacks: dict[str, str]) -> None:
    reported = {"children_cpu_ns": 0}
    made = program(({0: (0, 0)}, reported), ({0: (400, 600)}, reported), processors={"lacks": lacks})
    processors = found(made, tmp_path)
    assert in_ms(processors) == (600, 0, None, 600)
    assert (processors.others_cores, processors.others_share) == (None, None)
    why = {missing.what: missing.why for missing in processors.lacks}
    assert why["machine"] == lacks.get("machine", "/proc/stat has no value")
    assert processors.evidence == ("/proc/self/task/*/schedstat",)


def test_without_scheduler_statistics_waiting_is_unknown(tmp_path: Path) -> None:
    made = program(({0: (0, 0)}, NOTHING), second({0: (400, 0)}, 400))
    made._tables["thread_times"] = [(*row[:3], -1, *row[4:]) for row in made._tables["thread_times"]]
    processors = found(made, tmp_path)
    assert in_ms(processors) == (None, None, None, None)
    assert processors.used_cores == pytest.approx(0.4)
    trace = link(made.recording(tmp_path))
    assert waited_ns(trace.recording) is None
    assert held_up(trace) is HeldUp.UNKNOWN


def test_sums_of_other_processors_are_not_compared(tmp_path: Path) -> None:
    """A library that moves its thread to each processor in turn was seen on one of the two."""
    readings = [(5_000_000, 2), (2_000_000, 1), (5_002_000, 2), (5_003_000, 2)]
    fields = ({**NOTHING, "busy_ns": busy, "processors": number} for busy, number in readings)
    made = program(*(({0: (at * 500, 0)}, reported) for at, reported in enumerate(fields)))
    share = found(made, tmp_path).others_share
    assert share == pytest.approx((1000 - 500) / 2 / 3000)  # of the last second, on two processors


def test_threads_that_start_or_end_during_the_recording(tmp_path: Path) -> None:
    """Time of the first thread before the recording is not counted. Time that no reading saw is `other`."""
    made = program(
        ({0: (5000, 700)}, {**NOTHING, "process_cpu_ns": 5000}),
        second({0: (5100, 700), 1: (300, 40)}, 600, process_cpu_ns=5600),
        second({1: (350, 45)}, 700, process_cpu_ns=5700),
    )
    processors = found(made, tmp_path)
    assert processors.windows.run_ns.tolist() == [400 * MS, 50 * MS]
    assert processors.other_run_ns == (700 - 450) * MS
    threads = processors.threads
    assert (threads.thread.tolist(), threads.run_ns.tolist()) == ([1, 0], [350 * MS, 100 * MS])
    assert threads.last_ns.tolist() == [2 * SECOND_NS, SECOND_NS]
    assert threads.is_main.tolist() == [False, True]


def test_sums_agree_with_a_slow_twin(tmp_path: Path) -> None:
    random = Random(7)
    sums = {number: [0, 0] for number in range(6)}
    readings, steps = [], []
    for at in range(9):
        chosen = [number for number in sums if random.random() < 0.6 or at == 0]
        more = {number: (random.randrange(300), random.randrange(300)) for number in chosen}
        for number, (run, wait) in more.items():
            sums[number] = [sums[number][0] + run, sums[number][1] + wait]
        cpu = sum(run for run, _ in sums.values())
        reported = {
            "busy_ns": at * 1900,
            "pressure_ns": at * 900,
            "children_cpu_ns": 0,
            "process_cpu_ns": cpu,
        }
        readings.append(({number: (sums[number][0], sums[number][1]) for number in chosen}, reported))
        steps.append(more)
    processors = found(program(*readings), tmp_path)
    windows = processors.windows
    assert windows.run_ns.tolist() == [sum(run for run, _ in more.values()) * MS for more in steps[1:]]
    assert windows.waited_ns.tolist() == [sum(wait for _, wait in more.values()) * MS for more in steps[1:]]
    main = [more.get(0, (0, 0)) for more in steps[1:]]
    assert windows.main_waited_ns.tolist() == [wait * MS for _, wait in main]
    split = windows.own_ns + windows.others_ns + windows.unknown_ns
    assert split.tolist() == windows.waited_ns.tolist()
    assert min(map(np.min, (windows.own_ns, windows.others_ns, windows.unknown_ns))) >= 0


def test_an_interval_gets_its_part_of_each_window(tmp_path: Path) -> None:
    made = program(
        ({0: (0, 0)}, NOTHING), second({0: (500, 400)}, 2000), second({0: (1400, 420)}, 3000, 1001)
    )
    windows = found(made, tmp_path).windows
    start_ns = np.array([0, SECOND_NS // 2, -SECOND_NS, 5 * SECOND_NS])
    end_ns = np.array([SECOND_NS // 4, 3 * SECOND_NS // 2, 9 * SECOND_NS, 6 * SECOND_NS])
    part_ns = windows.between("main_waited_ns", start_ns, end_ns)
    assert part_ns.tolist() == [100 * MS, 210 * MS, 420 * MS, 0]
    assert ProcessorWindows.empty().between("own_ns", start_ns, end_ns).tolist() == [0] * 4


def test_older_recordings_have_it_as_a_fact(tmp_path: Path) -> None:
    old = Program(processors={"waited_ns": 30, "main_waited_ns": 7}, start={"monotonic_ns": 0})
    old.meta["stop"] = {"monotonic_ns": 100}
    trace = link(old.recording(tmp_path))
    assert (waited_ns(trace.recording), waited_ns(trace.recording, main=True)) == (30, 7)
    assert held_up(trace) is HeldUp.YES
    assert find(trace, Processors).get(Processors) is None


def test_the_section_counts_children_and_has_one_row_for_perfprobe(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    """300 ms of a second in the process and 600 in children; two threads of perfprobe, as after a fork."""
    made = program(
        ({}, NOTHING), second({0: (300, 10), 6: (5, 40), 8: (7, 60)}, 912, children_cpu_ns=600), pid=1
    )
    made.thread(8, "perfprobe-own")
    blocks = section.threads(find(link(made.recording(tmp_path)), Processors), Choice(8))
    heading, table, _ = blocks
    assert isinstance(heading, Heading)
    assert isinstance(table, Table)
    snapshot(heading.said)
    assert [list(column.cells) for column in (table.columns[0], table.columns[-1])] == [
        ["300 ms", "12.0 ms"],
        ["main thread", "perfprobe's own (2)"],
    ]
