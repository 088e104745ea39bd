"""The critical path: by hand over threads and streams, and its length against a slow twin."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.critical.chains import Chain
from perfprobe.analyse.critical.longest import Edges, longest_path
from perfprobe.analyse.critical.watch import CriticalWatch
from perfprobe.merge import link
from perfprobe.tables.critical import Bound, CriticalPath
from perfprobe.tables.gpu import WaitKind
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.found import find, watched


def path_of(program: Program, folder: Path) -> tuple[CriticalPath, Counter[tuple[str, int | None]]]:
    """The path, and its time by bound and line."""
    trace = link(program.recording(folder))
    found = find(trace, CriticalPath)[CriticalPath]
    times: Counter[tuple[str, int | None]] = Counter()
    rows = found.rows
    for bound, frame, total_ns in zip(
        rows.bound.tolist(), rows.frame.tolist(), rows.total_ns.tolist(), strict=True
    ):
        line = trace.line(frame)
        times[Bound(bound).name, None if line is None else line.line] += total_ns
    return found, times


def threads(count: int) -> Program:
    """The first one is the main thread."""
    program = Program(program={"pid": 1001})
    for at in range(count):
        program.thread(at + 1)
    return program


def test_operators_and_python_between_them(tmp_path: Path) -> None:
    program = threads(1)
    first, second = program.stack("a.py:5 main"), program.stack("a.py:6 main")
    program.run(
        op("outer", 0, 100, op("inner", 20, 60, stack=first), stack=first), op("mm", 130, 200, stack=second)
    )
    program.sample(105, 120, "a.py:7 main")
    found, times = path_of(program, tmp_path)
    assert (found.length_ns, found.hta_ns, found.wall_ns) == (200, 170, 200)
    assert times == {("CPU", 5): 100, ("CPU", 6): 70, ("PYTHON", 6): 15, ("PYTHON", 7): 15}


def test_a_wait_leads_to_the_gpu(tmp_path: Path) -> None:
    """The host waits from 60 to 520 for two kernels; the first waits for its launch."""
    program = threads(1)
    line, wait = program.stack("a.py:5 main"), program.stack("a.py:9 main")
    program.run(op("aten::mm", 0, 50, stack=line))
    for at, (call, start, end) in enumerate([(10, 30, 300), (20, 310, 500)]):
        program.api_call("cudaLaunchKernel", call, call + 5, at)
        program.kernel(f"k{at}", start, end, at)
    program.api_call("cudaDeviceSynchronize", 60, 520, 9, stack=wait)
    program.gpu_wait(WaitKind.CONTEXT, 60, 520, 9)
    program.run(op("aten::add", 530, 600, stack=wait))
    found, times = path_of(program, tmp_path)
    assert times == {
        ("CPU", 5): 10,
        ("LAUNCH", 5): 20,
        ("COMPUTE", 5): 270 + 190,
        ("KERNEL_GAP", 5): 10,
        ("PYTHON", 9): 10,
        ("CPU", 9): 70,
    }
    assert found.length_ns == sum(times.values())


def test_work_of_another_stream_that_a_stream_waits_for(tmp_path: Path) -> None:
    program = threads(1)
    line = program.stack("a.py:5 main")
    program.run(op("aten::mm", 0, 50, stack=line))
    program.api_call("cudaLaunchKernel", 10, 12, 1)
    program.kernel("long", 20, 400, 1, stream=20)
    program.api_call("cudaStreamWaitEvent", 14, 16, 2)
    program.gpu_wait(WaitKind.STREAM_WAIT_EVENT, 14, 16, 2, stream=7)
    program.api_call("cudaLaunchKernel", 18, 20, 3)
    program.kernel("after", 405, 500, 3, stream=7)
    found, times = path_of(program, tmp_path)
    assert times == {("CPU", 5): 10, ("LAUNCH", 5): 10, ("COMPUTE", 5): 380 + 95}
    assert found.hta_ns == 495


def test_backward_on_another_thread(tmp_path: Path) -> None:
    """Main hands over at 100, autograd's thread works from 110 to 380, main goes on at 400."""
    program = threads(2)
    line = program.stack("a.py:5 main")
    forward = op("aten::mm", 0, 100, stack=line, sequence=7)
    program.run(forward, op("aten::step", 400, 450, stack=program.stack("a.py:8 main")))
    back = {"node_sequence": 7, "node_thread": 1}
    program.run(
        op("MmBackward0", 110, 200, scope=1, **back), op("MmBackward0", 230, 380, scope=1, **back), thread=1
    )
    found, times = path_of(program, tmp_path)
    assert found.length_ns == found.wall_ns == 450
    assert times["CPU", 5] == 100 + 90 + 150
    assert times["CPU", 8] == 50
    assert times["CPU", None] == 10 + 30 + 20  # handing over, between nodes, coming back
    assert found.hta_ns == 240


def test_a_worker_thread_that_main_waits_for(tmp_path: Path) -> None:
    program = threads(2)
    main, helper = program.stack("a.py:5 main"), program.stack("a.py:12 helper")
    program.run(op("aten::mm", 0, 100, stack=main), op("aten::add", 900, 1000, stack=main))
    program.run(op("aten::sort", 150, 880, stack=helper), thread=1)
    program.sample(100, 900, "a.py:6 main", cpu_ns=0)
    _, times = path_of(program, tmp_path)
    assert times["CPU", 12] == 730
    assert times["PYTHON", 6] == 0


def test_another_thread_beside_one_that_works_is_not_waited_for(tmp_path: Path) -> None:
    program = threads(2)
    main, helper = program.stack("a.py:5 main"), program.stack("a.py:12 helper")
    program.run(op("aten::mm", 0, 100, stack=main), op("aten::add", 900, 1000, stack=main))
    program.run(op("aten::sort", 150, 880, stack=helper), thread=1)
    program.sample(100, 900, "a.py:6 main", cpu_ns=800)
    _, times = path_of(program, tmp_path)
    assert times == {("CPU", 5): 200, ("PYTHON", 6): 800}


def test_a_loader(tmp_path: Path) -> None:
    program = threads(1)
    line, data = program.stack("a.py:5 main"), program.stack("a.py:3 main")
    program.run(
        op("aten::mm", 0, 100, stack=line),
        op("enumerate(DataLoader)#_Single.__next__", 110, 390, scope=7, stack=data),
        op("aten::mm", 400, 500, stack=line),
    )
    _, times = path_of(program, tmp_path)
    assert times == {("CPU", 5): 200, ("DATA", 3): 300}


def test_nothing_recorded(tmp_path: Path) -> None:
    assert find(link(threads(1).recording(tmp_path)), CriticalPath).get(CriticalPath) is None


@pytest.mark.parametrize("seed", range(40))
def test_the_longest_path_is_that_of_a_slow_search(seed: int) -> None:
    chance = random.Random(seed)
    times = [
        sorted(chance.sample(range(1000), chance.randrange(2, 12))) for _ in range(chance.randrange(1, 5))
    ]
    chains, weights = [], []
    for own in times:
        weight = [chance.choice([0, after - before]) for before, after in pairwise(own)]
        weights.append(weight)
        reached = np.append(0, np.cumsum(weight)).astype(np.int64)
        chains.append(Chain(np.array(own), reached, np.zeros(len(own), np.intp), np.zeros(len(own), np.int8)))
    nodes = [(moment, at, node) for at, own in enumerate(times) for node, moment in enumerate(own)]
    pairs = [(a, b) for a in nodes for b in nodes if a[0] < b[0] and a[1] != b[1]]
    chosen = chance.sample(pairs, min(len(pairs), chance.randrange(12)))
    weight_ns = [chance.choice([0, b[0] - a[0]]) for a, b in chosen]
    table = np.array([(a[1], a[2], b[1], b[2]) for a, b in chosen], np.intp).reshape(-1, 4)
    columns = (table[:, at] for at in range(4))
    source, source_node, target, target_node = columns
    none = np.zeros(len(chosen), np.intp)
    edges = Edges(source, source_node, target, target_node, np.array(weight_ns, np.int64), none)
    into = defaultdict(list)
    for (a, b), weight_of in zip(chosen, weight_ns, strict=True):
        into[b[1:]].append((a[1:], weight_of))
    longest: dict[tuple[int, int], int] = {}
    for _, at, node in sorted(nodes):
        before = [longest[source] + weight_of for source, weight_of in into[at, node]]
        before += [longest[at, node - 1] + weights[at][node - 1]] if node else []
        longest[at, node] = max([0, *before])
    found = longest_path(chains, edges)
    assert found.length_ns == max(longest.values())
    along = sum(
        int(chains[at].reached_ns[last] - chains[at].reached_ns[first]) for at, first, last in found.stretches
    )
    assert along + sum(weight_ns[edge] for edge in found.edges) == found.length_ns


def steps_of(program: Program, count: int) -> None:
    """Steps of 100 ms: forward, backward and an optimizer's step."""
    line, ms = program.stack("a.py:5 main"), 1_000_000
    for step in range(count):
        at, backward = 100 * step, program.stack("a.py:5 main", "/t/torch/autograd/__init__.py:9 backward")
        program.run(
            op("aten::mm", (at + 10) * ms, (at + 40) * ms, stack=line),
            op("aten::mul", (at + 40) * ms, (at + 80) * ms, stack=backward),
            op("Optimizer.step#SGD.step", (at + 80) * ms, (at + 95) * ms, scope=USER_SCOPE, stack=line),
        )


def limited(trace: Trace, most: int) -> CriticalPath:
    """The path, with a limit for the number of operators."""
    watch = CriticalWatch(trace, find(trace, StepTimes)[StepTimes], most)
    watched(trace, watch)
    found = watch.result()
    assert found is not None
    return found


def test_of_many_steps_the_first_are_on_the_path(tmp_path: Path) -> None:
    program = threads(1)
    steps_of(program, 40)
    trace = link(program.recording(tmp_path, block_rows=7))
    whole, part = limited(trace, 1000), limited(trace, 31)
    assert (whole.left_out, whole.steps) == (0, whole.steady_steps)
    assert part.steady_steps == whole.steps > 30
    assert part.steps == 15  # of two operators each
    assert part.left_out == 2 * (whole.steps - 15)
    assert part.length_ns == pytest.approx(whole.length_ns * 15 / whole.steps, rel=0.1)


def test_without_steps_the_first_operators_are_on_the_path(tmp_path: Path) -> None:
    program = threads(1)
    program.run(*(op("mm", at, at + 5) for at in range(0, 1000, 10)))
    found = limited(link(program.recording(tmp_path, block_rows=7)), 20)
    assert (found.steps, found.left_out, found.wall_ns) == (0, 80, 195)
