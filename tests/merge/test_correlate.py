"""Which operator launched which GPU work, compared with hand counts and a slow twin."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators, Losses
from perfprobe.tables.gpu import CopyKind, GpuLinks, WaitKind
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace
from tests.build import Op, Program, op

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


def links_of(trace: Trace) -> GpuLinks:
    assert trace.gpu is not None
    return trace.gpu


def launchers(trace: Trace) -> list[str]:
    """The operator that made each call of the API."""
    strings = trace.recording[Strings]
    return [strings[name] if name >= 0 else "" for name in links_of(trace).sites.name.tolist()]


def lines(trace: Trace) -> list[int | None]:
    found = [trace.line(frame) for frame in links_of(trace).sites.frame.tolist()]
    return [line and line.line for line in found]


def gpu_times(trace: Trace) -> dict[str, tuple[int, int]]:
    """gpu_ns and gpu_self_ns by operator name."""
    rows = LinkedOperators.concat(list(trace.operators()))
    strings = trace.recording[Strings]
    columns = zip(rows.name.tolist(), rows.gpu_ns.tolist(), rows.gpu_self_ns.tolist(), strict=True)
    return {strings[name]: (total_ns, self_ns) for name, total_ns, self_ns in columns}


def test_without_gpus_there_are_no_links_and_no_times(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("mm", 0, 10))
    trace = link(program.recording(tmp_path))
    assert trace.gpu is None
    assert gpu_times(trace) == {"mm": (-1, -1)}


def training() -> Program:
    """A step: a copy, a forward operator with an inner one, its backward on another thread, a wait."""
    program = Program()
    program.thread(1)
    program.thread(2)
    line = program.stack("a.py:5 main", "a.py:9 loss")
    outside = program.stack("a.py:6 main")
    program.api_call("cudaMemcpyAsync", 10, 20, 1, stack=outside)
    program.run(op("linear", 100, 200, op("mm", 110, 150, stack=line), stack=line, sequence=7))
    program.api_call("cudaLaunchKernel", 120, 130, 2)
    program.api_call("cudaLaunchKernel", 160, 170, 3)
    back = {"node_sequence": 7, "node_thread": 1}
    program.run(op("MmBackward", 300, 400, op("mm_", 310, 390, **back), scope=1, **back), thread=1)
    program.api_call("cudaLaunchKernel", 320, 330, 4, thread=1)
    program.api_call("cudaLaunchKernel", 340, 350, 5, thread=1)
    program.api_call("cudaStreamSynchronize", 500, 600, 6)
    program.copy(CopyKind.HOST_TO_DEVICE, 30, 35, 1)
    for correlation, start_ns, time_ns in ((2, 140, 7), (3, 210, 11), (4, 420, 13), (5, 440, 17)):
        program.kernel(f"k{correlation}", start_ns, start_ns + time_ns, correlation)
    program.kernel("k5 again", 460, 479, 5)
    program.gpu_wait(WaitKind.STREAM, 505, 595, 6)
    return program


def test_a_step_by_hand(tmp_path: Path) -> None:
    trace = link(training().recording(tmp_path))
    links = links_of(trace)
    assert links.kernel_call.tolist() == [1, 2, 3, 4, 4]
    assert (links.copy_call.tolist(), links.wait_call.tolist()) == ([0], [5])
    assert launchers(trace) == ["", "mm", "linear", "mm_", "mm_", ""]
    assert lines(trace) == [6, 9, 9, 9, 9, None]
    assert links.sites.phase.tolist() == [*[Phase.OTHER], *[Phase.FORWARD] * 2, *[Phase.BACKWARD] * 2, 0]
    assert links.sites.forward_frame.tolist()[3] == links.sites.frame.tolist()[1]
    assert links.sites.no_line.tolist() == [*[NoLine.NONE] * 5, NoLine.OUTSIDE_OPERATORS]
    assert links.sites.start_ns.tolist() == [-1, 110, 100, 310, 310, -1]
    assert not links.graph_launch.any()
    assert gpu_times(trace) == {
        "mm": (7, 7),
        "linear": (18, 11),
        "mm_": (49, 49),
        "MmBackward": (49, 0),
    }


def test_runtime_calls_take_precedence_over_driver_calls(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.api_call("cuLaunchKernel", 12, 14, 1)
    program.api_call("cudaLaunchKernel", 11, 15, 1)
    program.api_call("cuLaunchKernelEx", 41, 45, 2)
    program.run(op("mm", 10, 20), op("triton_", 40, 50))
    program.kernel("gemm", 30, 35, 1)
    program.kernel("triton_poi", 60, 66, 2)
    program.kernel("lost", 70, 71, 3)
    program.kernel("nameless", 80, 81, -1)
    trace = link(program.recording(tmp_path))
    assert links_of(trace).kernel_call.tolist() == [1, 2, -1, -1]
    assert launchers(trace) == ["mm", "mm", "triton_"]
    assert gpu_times(trace) == {"mm": (5, 5), "triton_": (6, 6)}


def test_work_of_a_graph_has_no_operator(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    line = program.stack("a.py:5 main")
    program.run(op("replay", 0, 100, stack=line))
    program.api_call("cudaGraphLaunch", 10, 20, 1)
    program.api_call("cudaLaunchKernel", 30, 40, 2)
    program.kernel("node", 50, 60, 1, graph=3, graph_node=8)
    program.kernel("node", 60, 70, 1)  # of a library that does not report the graph
    program.kernel("own", 70, 75, 2)
    trace = link(program.recording(tmp_path))
    assert links_of(trace).graph_launch.tolist() == [True, False]
    assert lines(trace) == [5, 5]
    assert gpu_times(trace) == {"replay": (25, 5)}


def replays(**gpu: object) -> Program:
    """Two graph launches on lines 5 and 6 and a plain launch; their kernels, some with wrong ids."""
    program = Program(gpu=gpu)
    program.thread(1)
    for at, line in enumerate((5, 6, 7)):
        program.run(op("replay", 100 * at, 100 * at + 90, stack=program.stack(f"a.py:{line} main")))
        program.api_call(
            "cudaLaunchKernel" if line == 7 else "cudaGraphLaunch", 100 * at + 10, 100 * at + 20, at
        )
    program.kernel("first", 50, 60, 0, graph=3, graph_node=8)
    program.kernel(
        "second", 150, 160, 0, graph=3, graph_node=8
    )  # belongs to line 6, but has the id of line 5
    program.kernel("third", 170, 180, 2, graph=3, graph_node=9)  # has the id of a plain launch
    program.kernel("plain", 250, 260, 2)
    program.copy(CopyKind.HOST_TO_DEVICE, 170, 180, 0, graph=3)
    return program


FAULTS = {"faults": {"clock": "newer", "graph_ids": "record once"}}


def lost(trace: Trace) -> list[tuple[str, int, str]]:
    rows: list[Losses] = []
    for _ in trace.operators(rows):
        pass
    found = Losses.concat(rows)
    columns = zip(found.source, found.reason, found.count.tolist(), found.remedy, strict=True)
    return [
        (reason, count, remedy)
        for source, reason, count, remedy in columns
        if (source, "graph" in reason) == ("gpu", True)
    ]


@pytest.mark.parametrize("gpu", [{}, {"session": 1, **FAULTS}, {"session": 2, "faults": {}}, {"session": 2}])
def test_only_the_launch_of_a_graph_starts_its_kernels(gpu: dict[str, object], tmp_path: Path) -> None:
    trace = link(replays(**gpu).recording(tmp_path))
    assert links_of(trace).kernel_call.tolist() == [0, 0, -1, 2]
    assert links_of(trace).copy_call.tolist() == [0]
    ((_, count, remedy),) = lost(trace)
    assert (count, remedy) == (1, "")


def test_graphs_of_later_sessions_have_no_line_where_their_numbers_are_wrong(tmp_path: Path) -> None:
    trace = link(replays(session=2, **FAULTS).recording(tmp_path))
    assert links_of(trace).kernel_call.tolist() == [-1, -1, -1, 2]
    assert links_of(trace).copy_call.tolist() == [-1]
    ((reason, count, remedy),) = lost(trace)
    assert (count, remedy) == (4, "record once")
    assert "without operator and line" in reason


def test_a_graph_launch_with_a_wrong_number_takes_no_kernel_of_another_call(tmp_path: Path) -> None:
    program = Program(gpu={"session": 3, **FAULTS})
    program.thread(1)
    program.api_call("cudaGraphLaunch", 10, 20, 1)  # the id of the call below
    program.api_call("cudaLaunchKernel", 30, 40, 1)
    program.kernel("plain", 50, 60, 1)
    trace = link(program.recording(tmp_path))
    assert links_of(trace).kernel_call.tolist() == [1]
    assert lost(trace) == []


def test_ranges_are_not_operators_but_have_gpu_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(
        op("step", 0, 100, op("comms", 10, 50, op("nccl:all_reduce", 12, 48, scope=7)), scope=7),
    )
    program.api_call("cudaLaunchKernel", 20, 30, 1)
    program.api_call("cudaLaunchKernel", 60, 70, 2)
    program.kernel("ring", 40, 43, 1)
    program.kernel("alone", 70, 75, 2)
    trace = link(program.recording(tmp_path))
    assert launchers(trace) == ["comms", ""]
    assert gpu_times(trace) == {"step": (8, 5), "comms": (3, 3), "nccl:all_reduce": (3, 0)}


def test_an_external_id_takes_precedence_over_times(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("a", 0, 100, op("b", 10, 50)), op("c", 200, 300))
    program.api_call("cudaLaunchKernel", 20, 30, 1)  # inside b, and its id says b
    program.api_call("cudaLaunchKernel", 60, 70, 2)  # inside a, its id says b
    program.api_call("cudaLaunchKernel", 110, 120, 3)  # outside, its id says c
    program.api_call("cudaLaunchKernel", 80, 90, 4)  # its id is of an operator that was not recorded
    program.api_call("cudaLaunchKernel", 210, 220, 5)  # without an id
    for correlation, started_ns in ((1, 10), (2, 10), (3, 200), (4, 77)):
        program.row("external_ids", correlation, started_ns, anew=True)
    for correlation in range(1, 6):
        program.kernel("k", 400, 400 + 2**correlation, correlation)
    trace = link(program.recording(tmp_path))
    assert launchers(trace) == ["b", "b", "c", "a", "c"]
    assert (links_of(trace).exact, links_of(trace).disagreements) == (3, 2)
    assert gpu_times(trace) == {"a": (2 + 4 + 16, 16), "b": (6, 6), "c": (8 + 32, 40)}


def test_a_wait_has_the_line_of_the_range_around_it(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    users, own = program.stack("a.py:3 main"), program.stack("a.py:4 main")
    program.run(
        op("mine", 0, 100, op("cuda::synchronize", 10, 50, scope=7, stack=own), scope=7, stack=users),
        op("outer", 200, 300, op("cuda::synchronize", 210, 250, scope=7, stack=own), stack=users),
    )
    for correlation, start_ns in enumerate((20, 60, 220), 1):
        program.api_call("cudaDeviceSynchronize", start_ns, start_ns + 10, correlation)
    trace = link(program.recording(tmp_path))
    assert lines(trace) == [4, None, 3]  # other ranges say nothing about a call; an operator does
    assert launchers(trace) == ["", "", "outer"]


def test_calls_outside_operators_have_the_line_of_samples(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    again = program.row("threads", 1001, -1, program.string(""))
    program.thread(2)
    program.run(op("mm", 600, 700))
    own = program.stack("a.py:9 main")
    program.api_call("cudaDeviceSynchronize", 100, 200, 1)
    program.api_call("cudaDeviceSynchronize", 300, 310, 2)  # too short for a look
    program.api_call("cudaDeviceSynchronize", 400, 500, 3, stack=own)
    program.api_call("cudaDeviceSynchronize", 620, 680, 4)  # inside an operator
    program.api_call("cudaDeviceSynchronize", 800, 900, 5)  # the look failed
    program.sample(90, 150, "a.py:3 main", thread=again)
    program.sample(150, 190, "a.py:4 main", thread=again)
    program.sample(190, 305, "a.py:5 main", thread=2)
    program.sample(190, 450, "a.py:6 main", thread=again)
    program.sample(450, 650, "a.py:7 main", thread=again)
    program.sample(650, 850, look=2, thread=again)
    trace = link(program.recording(tmp_path))
    assert launchers(trace) == ["", "", "", "mm", ""]
    assert lines(trace) == [3, None, 9, None, None]
    assert links_of(trace).sites.no_line.tolist() == [0, 8, 0, NoLine.NO_PYTHON, 8]


def test_several_rows_of_one_thread_are_merged(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    again = program.row("threads", 1001, -1, program.string(""))
    stranger = program.row("threads", -1, -1, program.string(""))
    program.run(op("mm", 0, 100))
    program.api_call("cudaLaunchKernel", 20, 30, 1, thread=again)
    program.api_call("cudaLaunchKernel", 40, 50, 2, thread=stranger)
    program.api_call("cudaLaunchKernel", 60, 70, 3, thread=-1)
    assert launchers(link(program.recording(tmp_path))) == ["mm", "", ""]


def test_rows_without_times_are_ignored(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("mm", 0, 100))
    program.api_call("cudaLaunchKernel", 20, -1, 1)  # still open at the end of the recording
    program.kernel("k", -1, -1, 1)
    program.kernel("k", 50, 30, 1)
    program.kernel("k", 50, 60, 1)
    assert gpu_times(link(program.recording(tmp_path))) == {"mm": (10, 10)}


def random_fields(chance: random.Random, stacks: list[int]) -> dict[str, int]:
    fields = {"stack": chance.choice(stacks), "scope": 7 * (chance.random() < 0.2)}
    if chance.random() < 0.3:
        node = {"node_sequence": chance.randint(-1, 30), "node_thread": chance.randint(0, 2)}
        return {**fields, **node, "scope": chance.choice([0, 1])}
    return {**fields, "sequence": chance.randint(-1, 20)}


def random_ops(
    chance: random.Random, stacks: list[int], start_ns: int, end_ns: int, depth: int
) -> Iterator[Op]:
    at = start_ns
    while at < end_ns and chance.random() < 0.97:
        begin = min(at + chance.randint(1, 30), end_ns)
        at = chance.randint(begin, min(begin + (end_ns - start_ns) // 2, end_ns))
        inside = random_ops(chance, stacks, begin, at, depth + 1) if depth < 4 else ()
        # Each operator has a unique name, by which the twin distinguishes them.
        yield op(f"op{chance.random()}", begin, at, *inside, **random_fields(chance, stacks))


def all_ops(ops: list[Op]) -> Iterator[Op]:
    for item in ops:
        yield from all_ops(list(item.inside))
        yield item


def random_program(chance: random.Random) -> tuple[Program, dict[str, tuple[int, int]], list[str]]:
    """A program, the GPU times that its operators must have, and the operator around each call."""
    program = Program()
    inside = ("b.py:6 call", program.module("layer", "Layer", program.module("", "Net")))
    engine = ("a.py:9 main", ENGINE)
    frames = (("a.py:5 main",), ("a.py:5 main", inside), engine, (*engine, "b.py:8 backward"))
    stacks = [-1, *(program.stack(*entry) for entry in frames)]
    times: dict[str, tuple[int, int]] = {}
    launcher: list[str] = []
    for thread in (0, 1):
        program.thread(thread + 1)
        ops = list(random_ops(chance, stacks, 0, 3000, 0))
        total_ns: dict[str, int] = defaultdict(int)
        self_ns: dict[str, int] = defaultdict(int)
        for _ in range(200):
            begin, number = chance.randint(0, 3000), len(launcher)
            program.api_call("cudaLaunchKernel", begin, begin, number, thread=thread)
            around = [item for item in all_ops(ops) if item.start_ns <= begin <= item.end_ns]
            operators = [item.name for item in around if item.fields["scope"] != 7]
            launcher += operators[:1] or [""]
            for time_ns in chance.sample(range(1, 50), chance.randint(0, 2)):
                start_ns = chance.randint(0, 9000)
                program.kernel("k", start_ns, start_ns + time_ns, number)
                for item in around:
                    total_ns[item.name] += time_ns
                for name in (operators or [item.name for item in around])[:1]:
                    self_ns[name] += time_ns
        times |= {item.name: (total_ns[item.name], self_ns[item.name]) for item in all_ops(ops)}
        program.run(*ops, thread=thread)
    return program, times, launcher


@pytest.mark.parametrize("batch_rows", [1, 50, 100_000])
@pytest.mark.parametrize("seed", range(3))
def test_links_agree_with_a_search_of_all_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, batch_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", batch_rows)
    program, times, launcher = random_program(random.Random(seed))
    recording: Recording = program.recording(tmp_path, min(batch_rows, 30))
    trace = link(recording)
    assert launchers(trace) == launcher
    assert gpu_times(trace) == times
    assert sum(self_ns for _, self_ns in times.values()) > 1000


@pytest.mark.parametrize("seed", range(3))
def test_sites_have_the_values_of_their_operators(tmp_path: Path, seed: int) -> None:
    program, _, launcher = random_program(random.Random(seed))
    trace = link(program.recording(tmp_path))
    sites = links_of(trace).sites
    rows = LinkedOperators.concat(list(trace.operators()))
    row_of = {name: row for row, name in enumerate(rows.name.tolist())}
    inside = np.array([call for call, name in enumerate(launcher) if name])
    own = rows.take(np.array([row_of[name] for name in sites.name[inside].tolist()]))
    for column in sites.dtypes:
        assert getattr(sites, column)[inside].tolist() == getattr(own, column).tolist(), column
    assert set(own.phase.tolist()) == {Phase.OTHER, Phase.FORWARD, Phase.BACKWARD, Phase.RECOMPUTE}
