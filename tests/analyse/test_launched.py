"""Launches, their delays and queues, by hand and compared with a slow twin."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.launch_times import LaunchTimes
from tests.build import Program, op
from tests.found import find

US = 1_000


def found_in(program: Program, folder: Path) -> LaunchTimes:
    return find(link(program.recording(folder)), LaunchTimes)[LaunchTimes]


def test_short_kernels_long_calls_and_delays(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    line = program.stack("a.py:5 main")
    program.run(op("mm", 0, 1000 * US, stack=line))
    launches = [  # start and length of the call, start and length of the kernel
        (10, 10, 25, 5),  # short; 5 after its call
        (30, 10, 35, 20),  # began during its call: no delay
        (50, 60, 300, 30),  # a long call, so not short; 190 after it
    ]
    for at, (call, took, start, ran) in enumerate(launches):
        program.api_call("cudaLaunchKernel", call * US, (call + took) * US, at)
        program.kernel("k", start * US, (start + ran) * US, at)
    program.api_call("cudaMalloc", 400 * US, 500 * US, 9)
    program.kernel("not launched by a call that is known", 600 * US, 700 * US, 20)
    found = found_in(program, tmp_path)
    row = {name: column.tolist() for name, column in found.rows.columns().items()}
    assert (row["launches"], row["short"], row["total_ns"]) == ([3], [1], [80 * US])
    assert (row["gpu_ns"], row["delay_ns"], row["longest_delay_ns"]) == ([55 * US], [195 * US], [190 * US])
    stream = {name: column.tolist() for name, column in found.streams.columns().items()}
    assert (stream["long_calls"], stream["delayed"], stream["most"]) == ([1], [1], [1])
    assert (stream["call_ns"], stream["delay_ns"]) == ([10 * US], [5 * US])
    assert (stream["span_ns"], stream["queued_ns"]) == ([290 * US], [(15 + 5 + 250) * US])
    assert (stream["empty_ns"], stream["full_ns"]) == ([20 * US], [0])


def test_a_graph_is_one_launch(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.api_call("cudaGraphLaunch", 10, 20, 1)
    for start in (100, 200, 300):
        program.kernel("node", start, start + 50, 1, graph=3)
    found = found_in(program, tmp_path)
    assert (found.rows.launches.tolist(), found.rows.gpu_ns.tolist()) == ([1], [150])
    assert found.streams.most.tolist() == [1]


def test_a_full_queue(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for at in range(1100):
        program.api_call("cudaLaunchKernel", at, at + 1, at)
        program.kernel("k", 5000 + at, 5001 + at, at)
    row = found_in(program, tmp_path).streams
    assert row.most.tolist() == [1100]
    assert row.full_ns.tolist() == [5076 - 1023]  # from the 1024th launch until the 77th kernel begins


def test_launch_bound_stretches(tmp_path: Path) -> None:
    """Six launches, each after the work before; three that run ahead; four late ones are too few."""
    program = Program()
    program.thread(1)
    begins = [0, 100, 200, 300, 400, 500, 600, 610, 620, 630, 1000, 1100, 1200, 1300]
    for at, begin in enumerate(begins):
        start = begin + 20 if at < 7 or at > 9 else 660 + 30 * (at - 7)
        program.api_call("cudaLaunchKernel", begin, begin + 5, at)
        program.kernel("k", start, start + 25, at)
    row = found_in(program, tmp_path).streams
    assert (row.stretches.tolist(), row.most_bound.tolist()) == ([1], [6])
    assert row.bound_ns.tolist() == [645 - 45]


@pytest.mark.parametrize("seed", range(20))
def test_queues_over_time_equal_those_at_every_moment(tmp_path: Path, seed: int) -> None:
    chance, program = random.Random(seed), Program()
    program.thread(1)
    waits = []
    for at in range(chance.randrange(1, 40)):
        call = chance.randrange(1000)
        start = call + chance.randrange(300)
        stream = chance.randrange(2)
        waits.append((stream, call, start))
        program.api_call("cudaLaunchKernel", call, call + 5, at)
        program.kernel("k", start, start + 10, at, stream=stream)
    found = found_in(program, tmp_path)
    for stream in {each[0] for each in waits}:
        own = [(call, start) for each, call, start in waits if each == stream]
        length = {moment: sum(call <= moment < start for call, start in own) for moment in range(1400)}
        rows = found.queues.take(found.queues.stream == stream)
        for start, end, queued in zip(rows.start_ns, rows.end_ns, rows.queued_ns, strict=True):
            assert queued == sum(length[moment] for moment in range(start, end))
        row = found.streams.take(found.streams.stream == stream)
        assert int(rows.launches.sum()) == row.launches[0] == len(own)
        assert int(rows.queued_ns.sum()) == row.queued_ns[0] == sum(length.values())
        assert row.most[0] >= max(length.values())
