"""Idle time of devices: causes by hand, and sums compared with slow twins."""

from __future__ import annotations

import random
import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.idle.blame import BlamedIdle
from perfprobe.merge import link
from perfprobe.tables.gpu import CopyKind, WaitKind
from perfprobe.tables.idle import IdleCause, IdleTimes
from perfprobe.tables.ranges import RangeSource
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.found import find, watched

NS = 1_000  # the unit of these programs: gaps are longer than 30 us by default


def gap() -> Program:
    """A kernel until 200, and one from 1000 on that a call at 900 on line 9 launched."""
    program = Program()
    program.thread(1)
    program.thread(2)
    first, second = program.stack("a.py:5 main"), program.stack("a.py:9 main")
    program.api_call("cudaLaunchKernel", 10 * NS, 20 * NS, 1, stack=first)
    program.kernel("before", 100 * NS, 200 * NS, 1)
    program.api_call("cudaLaunchKernel", 900 * NS, 950 * NS, 2, stack=second)
    program.kernel("after", 1000 * NS, 1100 * NS, 2)
    return program


def blamed(program: Program, folder: Path) -> Counter[tuple[str, int | None]]:
    """Idle time by cause and line, in units."""
    trace = link(program.recording(folder))
    rows = find(trace, IdleTimes)[IdleTimes].rows
    found: Counter[tuple[str, int | None]] = Counter()
    for cause, frame, total_ns in zip(rows.cause, rows.frame.tolist(), rows.total_ns, strict=True):
        line = trace.line(frame)
        found[IdleCause(cause).name, None if line is None else line.line] += int(total_ns) // NS
    return found


def test_a_gap_is_python_before_the_launch_and_then_the_launch(tmp_path: Path) -> None:
    assert blamed(gap(), tmp_path) == {("PYTHON", 9): 700, ("LAUNCH", 9): 100}


def test_a_launch_of_a_damaged_time_is_the_place_if_no_operator_follows(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.kernel("before", 100 * NS, 200 * NS, 1)
    program.api_call("cudaLaunchKernel", 2**62, 2**62 + 1, 2, stack=program.stack("a.py:9 main"))
    program.kernel("after", 1000 * NS, 1100 * NS, 2)
    assert blamed(program, tmp_path) == {("PYTHON", 9): 800}


def test_samples_show_the_line_of_python(tmp_path: Path) -> None:
    program = gap()
    program.sample(300 * NS, 500 * NS, "a.py:7 main")
    assert blamed(program, tmp_path) == {("PYTHON", 9): 500, ("PYTHON", 7): 200, ("LAUNCH", 9): 100}


def test_operators_and_their_calls_are_causes(tmp_path: Path) -> None:
    program = gap()
    line = program.stack("a.py:8 main")
    program.run(op("aten::empty", 300 * NS, 600 * NS, stack=line))
    program.api_call("cudaMalloc", 400 * NS, 500 * NS, 3)
    program.api_call("cudaStreamIsCapturing", 520 * NS, 530 * NS, 4)
    assert blamed(program, tmp_path) == {
        ("PYTHON", 8): 100,
        ("OPERATORS", 8): 190,
        ("ALLOCATOR", 8): 100,
        ("LAUNCH", 8): 10,
        ("PYTHON", 9): 300,
        ("LAUNCH", 9): 100,
    }


def test_only_the_outermost_of_nested_operators_counts(tmp_path: Path) -> None:
    program = gap()
    outer, inner = program.stack("a.py:8 main"), program.stack("b.py:3 f")
    program.run(op("outer", 200 * NS, 890 * NS, op("inner", 300 * NS, 600 * NS, stack=inner), stack=outer))
    assert blamed(program, tmp_path) == {("OPERATORS", 8): 690, ("PYTHON", 9): 10, ("LAUNCH", 9): 100}


def test_loading_garbage_collection_and_compiling_are_causes(tmp_path: Path) -> None:
    program = gap()
    line = program.stack("a.py:3 main")
    program.run(op("enumerate(DataLoader)#_Single.__next__", 250 * NS, 450 * NS, scope=7, stack=line))
    source = int(RangeSource.PYTHON)
    program.named_range("garbage collection 2", 300 * NS, 350 * NS, source=source)
    compiler = f"{sysconfig.get_paths()['purelib']}/torch/_dynamo/convert_frame.py:1633 _compile"
    program.sample(500 * NS, 700 * NS, "a.py:4 main", compiler)
    assert blamed(program, tmp_path) == {
        ("PYTHON", 9): 50 + 50 + 200,
        ("DATA", 3): 150,
        ("COLLECTION", None): 50,
        ("COMPILE", 4): 200,
        ("LAUNCH", 9): 100,
    }


def test_a_wait_is_blamed_for_at_most_its_length(tmp_path: Path) -> None:
    """The host waited from 20 to 220. Without that it could be 200 ahead. The rest is Python."""
    program = gap()
    wait = program.stack("a.py:6 main")
    program.api_call("cudaStreamSynchronize", 20 * NS, 220 * NS, 3, stack=wait)
    program.gpu_wait(WaitKind.STREAM, 20 * NS, 220 * NS, 3)
    assert blamed(program, tmp_path) == {("SYNC", 6): 200, ("PYTHON", 9): 500, ("LAUNCH", 9): 100}


def test_waits_without_records_are_recognized_by_name(tmp_path: Path) -> None:
    program = gap()
    wait = program.stack("a.py:6 main")
    program.api_call("hipDeviceSynchronize", 20 * NS, 220 * NS, 3, stack=wait)
    assert blamed(program, tmp_path)["SYNC", 6] == 200


def test_parts_with_another_clear_cause_are_not_blamed_on_the_wait(tmp_path: Path) -> None:
    program = gap()
    wait, data = program.stack("a.py:6 main"), program.stack("a.py:3 main")
    program.api_call("cudaStreamSynchronize", 20 * NS, 220 * NS, 3, stack=wait)
    program.run(op("enumerate(DataLoader)#_Single.__next__", 250 * NS, 450 * NS, scope=7, stack=data))
    assert blamed(program, tmp_path) == {
        ("SYNC", 6): 50,
        ("DATA", 3): 200,
        ("PYTHON", 9): 450,
        ("LAUNCH", 9): 100,
    }


def test_a_copy_of_pageable_memory_is_a_cause(tmp_path: Path) -> None:
    """Its call begins at 1200 and makes the host wait; the copy itself begins at 1500."""
    program = gap()
    line = program.stack("a.py:4 main")
    program.api_call("cudaMemcpyAsync", 1200 * NS, 1600 * NS, 3, stack=line)
    program.copy(CopyKind.HOST_TO_DEVICE, 1500 * NS, 1650 * NS, 3)
    found = blamed(program, tmp_path)
    assert found["PAGEABLE_COPY", 4] == 300
    assert found["PYTHON", 4] == 100


def test_the_previously_launching_thread_counts_if_the_other_did_nothing(tmp_path: Path) -> None:
    """Autograd's thread runs an operator from 300 to 400 while the main thread waits for it in Python."""
    program = gap()
    back = program.stack("a.py:2 main")
    program.api_call("cudaLaunchKernel", 240 * NS, 250 * NS, 3, thread=1)
    program.kernel("backward", 260 * NS, 270 * NS, 3)
    program.run(op("MulBackward0", 300 * NS, 400 * NS, stack=back), thread=1)
    program.sample(200 * NS, 900 * NS, "a.py:6 main")
    found = blamed(program, tmp_path)
    assert found["OPERATORS", 2] == 100
    assert found["PYTHON", 6] == 30 + 500 + 40  # 270 to 300, 400 to 900; and 200 to 240 before its launch
    assert found["LAUNCH", 9] == 100


def test_queued_work_is_not_blamed_on_the_host(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    line = program.stack("a.py:5 main")
    for at, (start_ns, end_ns) in enumerate([(100, 200), (205, 300), (400, 500)]):
        program.api_call("cudaLaunchKernel", 10 * NS + at, 10 * NS + at + 1, at, stack=line)
        program.kernel("k", start_ns * NS, end_ns * NS, at)
    trace = link(program.recording(tmp_path))
    found = find(trace, IdleTimes)[IdleTimes]
    rows = found.rows
    assert [IdleCause(cause).name for cause in rows.cause] == ["UNKNOWN", "BETWEEN_KERNELS"]
    assert (rows.other_ns.tolist(), rows.kernel_wait_ns.tolist()) == ([100 * NS, 0], [0, 5 * NS])
    assert (found.streams.kernel_wait_ns.tolist(), found.streams.other_ns.tolist()) == ([5 * NS], [100 * NS])


def test_work_without_a_recorded_launch(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.kernel("k", 100 * NS, 200 * NS, 1)
    program.kernel("k", 300 * NS, 400 * NS, 2)
    assert blamed(program, tmp_path) == {("UNKNOWN", None): 100}


def test_without_work_there_is_no_finding(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    assert find(link(program.recording(tmp_path)), IdleTimes).get(IdleTimes) is None
    program.kernel("k", -1, -1, 1)
    assert find(link(program.recording(tmp_path)), IdleTimes).get(IdleTimes) is None


def anything(seed: int) -> Program:
    """Random kernels and copies on two devices, streams and threads, with operators, calls and samples."""
    chance, program = random.Random(seed), Program()
    for thread in (1, 2):
        program.thread(thread)
        at = 0
        for _ in range(chance.randrange(12)):
            at += chance.randrange(1, 60)
            end = at + chance.randrange(1, 60)
            program.run(op("op", at, end, stack=program.stack(f"a.py:{at} f")), thread=thread - 1)
            at = end
        program.sample(chance.randrange(300), 300 + chance.randrange(300), "a.py:1 f", thread=thread - 1)
    for number in range(chance.randrange(1, 25)):
        call, launched = chance.randrange(600), chance.random() < 0.9
        begin = call + chance.randrange(80)
        where = {"device": chance.randrange(2), "stream": chance.randrange(7, 9)}
        name = chance.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaMalloc", "cudaStreamSynchronize"])
        if launched:
            program.api_call(name, call, call + chance.randrange(1, 40), number, thread=chance.randrange(2))
        if chance.random() < 0.5:
            program.kernel("ncclKernel" if chance.random() < 0.4 else "k", begin, begin + 30, number, **where)
        else:
            program.copy(CopyKind.HOST_TO_DEVICE, begin, begin + chance.randrange(40), number, **where)
    return program


def work_of(trace: Trace) -> list[tuple[int, int, int, int]]:
    """Returns device, kind, start and end of all work."""
    blame = BlamedIdle(trace, find(trace, StepTimes)[StepTimes])
    assert blame.work is not None
    work = blame.work
    return list(
        zip(
            work.device.tolist(),
            work.kind.tolist(),
            work.start_ns.tolist(),
            work.end_ns.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("seed", range(60))
def test_all_parts_add_up_to_the_gaps(tmp_path: Path, seed: int) -> None:
    trace = link(anything(seed).recording(tmp_path))
    blame = BlamedIdle(trace, find(trace, StepTimes)[StepTimes])
    watched(trace, blame)
    pieces, found = blame.pieces(), find(trace, IdleTimes)[IdleTimes]
    for device in {each[0] for each in work_of(trace)}:
        own = [each for each in work_of(trace) if each[0] == device]
        first, last = min(each[2] for each in own), max(each[3] for each in own)
        ran = {
            moment: {kind for _, kind, start, end in own if start <= moment < end}
            for moment in range(first, last)
        }
        idle = Counter(
            moment
            for start, end in zip(
                pieces.start_ns[pieces.device == device], pieces.end_ns[pieces.device == device], strict=True
            )
            for moment in range(start, end)
        )
        assert idle == {moment: 1 for moment, kinds in ran.items() if not kinds}
        rows = found.rows.take(found.rows.device == device)
        assert int(rows.total_ns.sum()) == len(idle)
        kinds_ns = rows.host_wait_ns + rows.kernel_wait_ns + rows.other_ns
        assert np.array_equal(kinds_ns, rows.total_ns)
        row = found.overlaps.take(found.overlaps.device == device)
        names = ["idle", "computing", "communicating", "computing_communicating", "copying"]
        names += ["computing_copying", "communicating_copying", "all"]
        by_kinds = Counter(sum(1 << kind for kind in kinds) for kinds in ran.values())
        assert [int(getattr(row, f"{name}_ns")[0]) for name in names] == [by_kinds[at] for at in range(8)]
