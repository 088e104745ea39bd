"""GPU work by operator, line, device and step, compared with hand counts and slow twins."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse.devices import union_ns
from perfprobe.analyse.gpu import gpu_findings
from perfprobe.analyse.steps import StepWatch
from perfprobe.merge import link
from perfprobe.report.section.listed import KINDS
from perfprobe.results import Results
from perfprobe.support.view import GROUPS, View
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, GpuWaits, Kernels, MemoryKind, WaitKind
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Trace
from perfprobe.tables.wrappers import WrapperSpans
from tests.build import Op, Program, op
from tests.found import hotspots, watched
from tests.merge.test_correlate import random_program, training


def steps(trace: Trace) -> StepTimes:
    watch = StepWatch(trace)
    watched(trace, watch)
    return watch.result()


def analysed(recording: Recording) -> tuple[Trace, GpuFindings]:
    trace = link(recording)
    found = gpu_findings(trace, steps(trace).steps, WrapperSpans.empty())
    assert found is not None
    return trace, found


def row_values(trace: Trace, rows: Any, at: int, *columns: str) -> list[Any]:
    strings = trace.recording[Strings]
    values = []
    for column in columns:
        value = getattr(rows, column)[at].item()
        if column in ("name", "operator", "call"):
            value = strings[value] if value >= 0 else None
        if column == "frame":
            line = trace.line(value)
            value = line and line.line
        values.append(value)
    return values


def test_without_gpu_records_there_are_no_findings(tmp_path: Path) -> None:
    trace = link(Program().recording(tmp_path))
    assert gpu_findings(trace, steps(trace).steps, WrapperSpans.empty()) is None


def test_a_step_by_hand(tmp_path: Path) -> None:
    trace, found = analysed(training().recording(tmp_path))
    kernels = [
        row_values(trace, found.kernels, at, "name", "operator", "frame", "kernels", "total_ns")
        for at in range(len(found.kernels))
    ]
    assert kernels == [
        ["k5 again", "mm_", 9, 1, 19],
        ["k5", "mm_", 9, 1, 17],
        ["k4", "mm_", 9, 1, 13],
        ["k3", "linear", 9, 1, 11],
        ["k2", "mm", 9, 1, 7],
    ]
    copied = ("kind", "source", "destination", "operator", "frame", "linked", "size_bytes", "total_ns")
    assert row_values(trace, found.copies, 0, *copied) == [1, 1, 3, None, 6, 1, 1024, 5]
    waited = ("kind", "call", "operator", "frame", "no_line", "waits", "total_ns", "longest_ns")
    no_line = NoLine.OUTSIDE_OPERATORS
    assert row_values(trace, found.waits, 0, *waited) == [
        3, "cudaStreamSynchronize", None, None, no_line, 1, 90, 90,
    ]  # fmt: skip
    calls = [row_values(trace, found.calls, at, "name", "calls", "failed", "total_ns") for at in range(3)]
    assert calls == [
        ["cudaStreamSynchronize", 1, 0, 100],
        ["cudaLaunchKernel", 4, 0, 40],
        ["cudaMemcpyAsync", 1, 0, 10],
    ]
    assert [column[0].item() for column in found.devices.columns().values()] == [
        0, 5, 67, 1, 5, 1024, 1, 72, 30, 479, 67, 0, 5,
    ]  # fmt: skip
    assert (len(found.steps), found.step_counts.step.tolist()) == (1, [0, -1])
    assert (found.unlinked, found.outside, found.untimed, found.graph_launches) == (0, 1, 0, 0)


def test_copies_of_pageable_memory_are_waits(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    pageable, pinned, device = MemoryKind.PAGEABLE, MemoryKind.PINNED, MemoryKind.DEVICE
    to_gpu, to_host = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST
    copies: list[tuple[int, int, int, int, int, int, int]] = [
        (to_gpu, pageable, device, 10, 100, 50, 104),  # its last part is being copied until 100
        (to_host, device, pageable, 200, 300, 250, 290),  # after a kernel, until 290
        (to_gpu, pageable, device, 400, 410, 415, 416),  # the call returned before the copy began
        (to_gpu, pinned, device, 500, 600, 510, 590),  # not pageable
        (to_host, device, pageable, 700, 800, 710, 790),  # has a synchronization record
        (to_host, device, pageable, 900, 950, -1, -1),  # has no times
    ]
    for at, (kind, source, destination, *times) in enumerate(copies, 1):
        program.api_call("cudaMemcpyAsync", times[0], times[1], at)
        program.copy(kind, times[2], times[3], at, source=source, destination=destination)
    program.gpu_wait(WaitKind.STREAM, 705, 795, 5)
    program.copy(to_host, 960, 965, -1, source=device, destination=pageable)  # its call is not known
    program.api_call("cudaGraphLaunch", 1000, 1100, 7)
    program.copy(to_gpu, 1010, 1020, 7, graph=3)
    _, found = analysed(program.recording(tmp_path))
    rows = zip(*(getattr(found.waits, name).tolist() for name in ("kind", "waits", "total_ns")), strict=True)
    assert list(rows) == [(WaitKind.PAGEABLE_COPY, 2, 90 + 90), (WaitKind.STREAM, 1, 90)]
    assert (found.step_counts.waits.tolist(), found.step_counts.wait_ns.tolist()) == ([3], [270])


def test_what_makes_a_row(tmp_path: Path) -> None:
    """Equal kernels of two equal operators on one line, in two modules; one is longer, one untimed."""
    program = Program()
    program.thread(1)
    net = program.module("", "Net")
    modules = [program.module(name, "Linear", net) for name in "ab"]
    stacks = [program.stack("a.py:5 main", ("b.py:6 call", module)) for module in modules]
    texts = [program.signature("f32[2]", mask) for mask in (0, 1)]
    launches = [program.row("launches", size, *[1] * 9) for size in (8, 9)]
    for at in range(4):
        fields = {"stack": stacks[at % 2], "signature": texts[at % 2]}
        program.run(op("mm", 100 * at, 100 * at + 50, **fields))
        program.api_call("cudaLaunchKernel", 100 * at + 10, 100 * at + 20, at)
    for at, time_ns in enumerate((10, 30, 20)):
        program.kernel("gemm", 1000, 1000 + time_ns, at, launch=launches[at % 2])
    program.kernel("gemm", -1, -1, 3)
    trace, found = analysed(program.recording(tmp_path))
    assert len(found.kernels) == 1
    counted = ("kernels", "untimed", "total_ns", "least_ns", "most_ns", "launch", "module", "frame")
    assert row_values(trace, found.kernels, 0, *counted) == [4, 1, 60, 10, 30, launches[1], -1, 6]
    assert found.untimed == 1
    rows = hotspots(trace).rows
    assert (rows.gpu_ns.tolist(), rows.gpu_self_ns.tolist()) == ([60], [60])


def test_equal_inputs_of_two_operators_are_two_rows(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    inputs = {name: program.signature("f32[2]", operator=name) for name in ("neg", "exp")}
    for at, (name, signature) in enumerate(inputs.items()):
        program.run(op(name, 100 * at, 100 * at + 50, signature=signature))
        program.api_call("cudaLaunchKernel", 100 * at + 10, 100 * at + 20, at)
        program.kernel("elementwise", 1000 + 10 * at, 1005 + 10 * at, at)
    trace, found = analysed(program.recording(tmp_path))
    strings = trace.recording[Strings]
    columns = (found.kernels.operator.tolist(), found.kernels.signature.tolist())
    assert {strings[operator]: signature for operator, signature in zip(*columns, strict=True)} == inputs


def test_work_without_a_known_origin_is_shown(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("replay", 0, 100, stack=program.stack("a.py:7 main")))
    program.api_call("cuGraphLaunch", 12, 18, 1)
    program.api_call("cudaGraphLaunch", 10, 20, 1, result=-1)
    program.api_call("cudaEventQuery", 30, 35, 2, result=600)
    program.api_call("cudaLaunchKernel", 40, 45, 3, result=719)
    program.kernel("node", 50, 60, 1, graph=3, graph_node=1)
    program.kernel("before", 5, 9, 77)
    program.kernel("before", -1, -1, 78)
    program.copy(CopyKind.FILL, -1, -1, 79, size_bytes=-1)
    trace, found = analysed(program.recording(tmp_path))
    brief = ("name", "operator", "frame", "no_line", "is_graph", "linked", "kernels", "untimed", "total_ns")
    assert [row_values(trace, found.kernels, at, *brief) for at in range(2)] == [
        ["node", None, 7, NoLine.NONE, 1, 1, 1, 0, 10],
        ["before", None, None, NoLine.CALL_NOT_RECORDED, 0, 0, 2, 1, 4],
    ]
    assert row_values(trace, found.copies, 0, "linked", "size_bytes", "untimed", "total_ns") == [0, 0, 1, -1]
    assert (found.graph_launches, found.unlinked, found.untimed, found.outside) == (1, 3, 2, 0)
    failed = dict(zip(found.calls.name.tolist(), found.calls.failed.tolist(), strict=True))
    assert {trace.recording[Strings][name]: count for name, count in failed.items() if count} == {
        "cudaLaunchKernel": 1
    }
    assert (found.devices.busy_ns.tolist(), found.devices.copy_ns.tolist()) == ([14], [-1])


def test_nested_calls_of_a_row_count_once_in_every_group(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    line = program.stack("a.py:5 main")
    program.run(op("f", 0, 100, op("f", 10, 50, op("g", 20, 40, stack=line), stack=line), stack=line))
    for correlation, begun_ns in enumerate((5, 15, 25)):
        program.api_call("cudaLaunchKernel", begun_ns, begun_ns, correlation)
        program.kernel("k", 200, 200 + 10**correlation, correlation)
    trace = link(program.recording(tmp_path))
    by_operator = hotspots(trace, group="op").rows
    assert (by_operator.gpu_ns.tolist(), by_operator.gpu_self_ns.tolist()) == ([111, 100], [11, 100])
    by_line = hotspots(trace, group="line", focus=r"a\.py").rows
    assert (by_line.gpu_ns.tolist(), by_line.gpu_self_ns.tolist()) == ([111], [111])
    assert hotspots(trace, focus="^g$").rows.gpu_self_ns.tolist() == [100]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("focus", [None, "mm"])
def test_every_grouping_of_the_report_has_gpu_times(tmp_path: Path, group: str, focus: str | None) -> None:
    path = training().recording(tmp_path).path
    found = Results(path).findings(View(group=group, focus=focus), KINDS)
    assert found[GpuFindings].kernels.kernels.sum() == 5
    # "linear" launched k3 itself and does not match the focus: its name has no "mm".
    assert found[Hotspots].rows.gpu_self_ns.sum() == 67 - (0 if focus is None else 11)


def test_a_report_without_gpus_has_no_gpu_columns(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("mm", 0, 10))
    found = Results(program.recording(tmp_path).path).findings(View(), KINDS)
    assert GpuFindings not in found
    assert found[Hotspots].rows.gpu_ns.tolist() == found[Hotspots].rows.gpu_self_ns.tolist() == [-1]


@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_those_of_the_records(tmp_path: Path, seed: int) -> None:
    program, _, launcher = random_program(random.Random(seed))
    chance = random.Random(seed)
    for number in range(100):
        start_ns = chance.choice([-1, chance.randint(0, 9000)])
        fields = {"device": chance.randint(0, 1), "stream": chance.randint(1, 3), "size_bytes": number}
        program.copy(chance.choice([1, 2, 8]), start_ns, start_ns + 5, chance.randint(0, 700), **fields)
        program.gpu_wait(WaitKind.EVENT, number, number + chance.randint(0, 9), chance.randint(0, 700))
    recording = program.recording(tmp_path)
    trace, found = analysed(recording)
    kernels, copies, waits = recording[Kernels], recording[Copies], recording[GpuWaits]
    kernel_ns = int((kernels.end_ns - kernels.start_ns).sum())
    copy_ns = 5 * int(np.count_nonzero(copies.start_ns >= 0))
    assert found.kernels.total_ns.sum() == found.devices.kernel_ns.sum() == kernel_ns
    assert found.kernels.kernels.sum() == found.devices.kernels.sum() == len(kernels)
    assert np.maximum(found.copies.total_ns, 0).sum() == found.devices.copy_ns.sum() == copy_ns
    assert found.copies.copies.sum() == found.devices.copies.sum() == len(copies)
    assert found.copies.size_bytes.sum() == found.devices.copied_bytes.sum() == copies.size_bytes.sum()
    assert found.waits.total_ns.sum() == (waits.end_ns - waits.start_ns).sum()
    assert found.calls.calls.sum() == len(recording[ApiCalls])
    counts = found.step_counts
    assert (counts.kernels.sum(), counts.kernel_ns.sum()) == (len(kernels), kernel_ns)
    strings = recording[Strings]
    slow: Counter[str] = Counter()
    for call in kernels.correlation.tolist():
        slow[launcher[call]] += 1
    rows = zip(found.kernels.operator.tolist(), found.kernels.kernels.tolist(), strict=True)
    fast: Counter[str] = Counter()
    for name, count in rows:
        fast[strings[name] if name >= 0 else ""] += count
    assert fast == slow
    assert found.outside + found.unlinked == sum(found.kernels.kernels[found.kernels.operator < 0]) + sum(
        found.copies.copies[found.copies.operator < 0]
    )
    in_operators = [(rows.operator >= 0, rows.total_ns) for rows in (found.kernels, found.copies)]
    operators_ns = sum(int(np.maximum(total_ns, 0)[inside].sum()) for inside, total_ns in in_operators)
    assert hotspots(trace).rows.gpu_self_ns.sum() == operators_ns


@pytest.mark.parametrize("seed", range(5))
def test_busy_means_that_anything_runs(seed: int) -> None:
    chance = random.Random(seed)
    spans = [(start, start + chance.randint(0, 40)) for start in (chance.randint(0, 900) for _ in range(40))]
    busy = {moment for start, end in spans for moment in range(start, end)}
    start_ns, end_ns = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    assert union_ns(start_ns, end_ns) == len(busy)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(30))
def test_arbitrary_numbers_cause_no_error(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    def number(bits: int = 63) -> int:
        near = [chance.randint(-3, 40) for _ in range(6)]
        return chance.choice([*near, -(2**bits), 2**bits - 1, chance.randint(-(2**bits), 2**bits - 1)])

    program = Program()
    program.thread(1)
    names = ("Optimizer.step#SGD.step", "ProfilerStep#1", "mm", "cudaGraphLaunch", "cuLaunchKernel")
    for _ in range(chance.randint(0, 12)):
        start_ns, end_ns = chance.choice([sorted((number(), number())), [number(), number()]])
        item = op(chance.choice(names), start_ns, end_ns, scope=chance.choice([0, 1, 7]))
        program.run(item, depth=chance.randint(0, 2))
        thread = {"thread": number(31)}
        program.api_call(chance.choice(names), number(), number(), number(), result=number(31), **thread)
        device = {"device": number(31), "stream": number(31)}
        graph = {"graph": number(), "graph_node": number()}
        program.kernel("k", number(), number(), number(), launch=number(31), **device, **graph)
        program.copy(number(7), number(), number(), number(), size_bytes=number(), **device, **graph)
        program.gpu_wait(number(7), number(), number(), number())
        program.row("external_ids", number(), number(), anew=True)
        program.sample(number(), number(), "a.py:5 main")
    path = program.recording(tmp_path).path
    assert Results(path).text(View())
    if len(program.operators):
        assert GpuFindings in Results(path).findings(View(), KINDS)


def test_devices_are_separate(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.kernel("a", 0, 10, 1, device=1, stream=7)
    program.kernel("b", 5, 20, 2, device=1, stream=8)
    program.copy(CopyKind.PEER_TO_PEER, 30, 31, 3, device=0)
    _, found = analysed(program.recording(tmp_path))
    columns = ("device", "busy_ns", "streams", "first_ns", "last_ns")
    assert [getattr(found.devices, name).tolist() for name in columns] == [
        [1, 0], [20, 1], [2, 1], [0, 30], [20, 31],
    ]  # fmt: skip


def steps_of(program: Program, folder: Path) -> list[tuple[int, int]]:
    program.kernel("k", 0, 1, 1)
    _, found = analysed(program.recording(folder))
    return list(zip(found.steps.start_ns.tolist(), found.steps.end_ns.tolist(), strict=True))


def two_steps(unit_ns: int = 1) -> list[Op]:
    ops = []
    for at in (1000, 2000):
        times = ((600, 700), (710, 800), (720, 730))
        first, second, inner = (((at + begin) * unit_ns, (at + end) * unit_ns) for begin, end in times)
        ops += [
            op("mm", at * unit_ns, (at + 10) * unit_ns),
            op("Optimizer.step#SGD.step", *first, scope=7),
            op("Optimizer.step#Adam.step", *second, op("mul", *inner), scope=7),
        ]
    return ops


def test_steps_end_with_the_last_of_their_optimizers(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.thread(2)
    program.run(*two_steps(1000))
    program.run(
        *(op("MmBackward", at + 100_000, at + 400_000, scope=1) for at in (1_000_000, 2_000_000)), thread=1
    )
    assert steps_of(program, tmp_path) == [(1_000_000, 1_800_000), (1_800_000, 2_800_000)]


def test_without_backward_between_them_optimizers_are_one_step(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(*two_steps())
    assert steps_of(program, tmp_path) == [(1000, 2800)]


def test_steps_come_from_the_longest_loop(tmp_path: Path) -> None:
    program = Program(program={"pid": 1001})
    program.thread(1)
    program.thread(2)
    program.run(op("Optimizer.step#SGD.step", 100, 200, scope=7))
    for at in range(5):
        program.run(op("Optimizer.step#Own.step", 10 * at, 10 * at + 5, scope=7), thread=1)
    assert steps_of(program, tmp_path) == [(100, 200)]


def test_a_program_may_mark_its_steps(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(
        op("ProfilerStep#3", 900, 1900, *two_steps()[:3], scope=7), op("ProfilerStep#4", 1950, 2000, scope=7)
    )
    program.api_call("cudaLaunchKernel", 1899, 1950, 1)
    program.api_call("cudaMemcpyAsync", 1960, 1970, 2)
    program.api_call("cudaMemcpyAsync", 2000, 2010, 3)
    program.copy(1, 1990, 2010, 2)
    program.copy(1, 2020, 2021, 3)
    assert steps_of(program, tmp_path) == [(900, 1900), (1950, 2000)]
    _, found = analysed(program.recording(tmp_path))
    counts = [getattr(found.step_counts, name).tolist() for name in ("step", "kernels", "copies", "copy_ns")]
    assert counts == [[0, 1, -1], [1, 0, 0], [0, 1, 1], [0, 20, 1]]
