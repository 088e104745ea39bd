"""The account of a GPU against programs counted by hand, a count by nanosecond, and real traces."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse.account.device import divided
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.tables.device_account import DeviceAccount, DeviceKind
from perfprobe.tables.gpu import CopyKind, Kernels, WaitKind
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.analyse.test_gpu_traces import folder
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

US = 1_000
STEPS = 4
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


class Training:
    """Steps of 1000 us. Line 20 loads data for 300 us, 21 is the model, 24 reads a number, 25 updates.

    The GPU copies for 50 us, computes for 100 us forward (40 us of it beside an all-reduce of 60 us), and for
    200 us backward; the program reads its result, and 100 us later a graph computes for 30 us.
    """

    def __init__(self) -> None:
        self.program, self.correlation = Program(**META), 0
        for number in (1, 2):
            self.program.thread(number)
        self.model = self.program.stack("/p/train.py:21 main")
        for number in range(STEPS):
            self._step(number, number * 1000 * US)
        stop = {"monotonic_ns": STEPS * 1000 * US, "cpu_ns": STEPS * 1000 * US}
        self.program.meta |= {"stop": stop}

    def _work(self, call_ns: int, name: str, start_ns: int, long_ns: int, **fields: int) -> None:
        self.correlation += 1
        stack = {"stack": fields.pop("stack")} if "stack" in fields else {}
        api = "cudaGraphLaunch" if "graph" in fields else "cudaLaunchKernel"
        self.program.api_call(api, call_ns, call_ns + US, self.correlation, **stack)
        if name == "copy":
            kind, end_ns = CopyKind.HOST_TO_DEVICE, start_ns + long_ns
            self.program.copy(kind, start_ns, end_ns, self.correlation, source=2, is_async=1)
        else:
            self.program.kernel(name, start_ns, start_ns + long_ns, self.correlation, **fields)

    def _step(self, number: int, at: int) -> None:
        program, node = self.program, {"node_sequence": number, "node_thread": 1}

        def us(begin: int) -> int:
            return at + begin * US

        data, read = program.stack("/p/train.py:20 main"), program.stack("/p/train.py:24 main")
        update = program.stack("/p/train.py:25 main")
        program.run(op("enumerate(DataLoader)#_Next", us(0), us(300), stack=data, scope=7))
        program.run(op("aten::to", us(300), us(310), stack=program.stack("/p/train.py:22 main")))
        self._work(us(305), "copy", us(310), 50 * US)
        program.run(op("aten::mm", us(320), us(340), stack=self.model, sequence=number))
        self._work(us(325), "gemm", us(360), 100 * US)
        program.run(op("c10d::allreduce_", us(342), us(346), stack=self.model))
        self._work(us(343), "ncclDevKernel_AllReduce", us(420), 60 * US, stream=9)
        engine = program.stack("/p/train.py:23 main", ENGINE)
        program.run(op("MmBackward0", us(350), us(370), stack=engine, **node))
        self._work(us(355), "gemm_backward", us(480), 200 * US)
        program.run(op("aten::_local_scalar_dense", us(380), us(690), stack=read))
        self.correlation += 1
        program.api_call("cudaStreamSynchronize", us(385), us(685), self.correlation)
        program.gpu_wait(WaitKind.STREAM, us(385), us(685), self.correlation)
        self._work(us(775), "graph_node", us(780), 30 * US, graph=3, stack=update)
        program.run(op("Optimizer.step#SGD.step", us(800), us(1000), stack=update, scope=7))


def account_of(trace: Trace) -> DeviceAccount:
    return find(trace, DeviceAccount)[DeviceAccount]


def parts(trace: Trace, found: DeviceAccount) -> Counter[tuple[str, str, int]]:
    """By kind or cause, operator or kernel, and line; us in a step. Line 0: none."""
    sums: Counter[tuple[str, str, int]] = Counter()
    strings, leaves = trace.recording[Strings], found.leaves
    for at in range(len(leaves)):
        line = trace.line(int(leaves.frame[at]))
        kind = DeviceKind(leaves.kind[at])
        name = strings[int(leaves.operator[at])] or strings[int(leaves.name[at])]
        if kind is DeviceKind.IDLE:
            key = IdleCause(leaves.cause[at]).name, "", line.line if line else 0
        else:
            key = kind.name, name, line.line if line else 0
        sums[key] += int(leaves.time_ns[at])
    return Counter({key: round(time_ns / US / found.steps) for key, time_ns in sums.items()})


def test_every_part_is_what_the_gpu_did(tmp_path: Path) -> None:
    trace = link(Training().program.recording(tmp_path))
    found = account_of(trace)
    times_us = parts(trace, found)
    assert found.of_steps
    assert found.time_ns == found.steps * 1000 * US
    assert int(found.leaves.time_ns.sum()) == found.time_ns
    assert times_us["COPY", "aten::to", 22] == 50
    assert times_us["KERNEL", "aten::mm", 21] == 100
    assert times_us["COMMUNICATION", "c10d::allreduce_", 21] == 20  # the other 40 us are hidden by mm
    assert times_us["KERNEL", "MmBackward0", 21] == 200  # the line of its forward call
    assert times_us["KERNEL", "graph_node", 25] == 30  # of no operator
    assert times_us["DATA", "", 20] == 300
    assert times_us["SYNC", "", 24] == 95  # from the end of backward: nothing could be launched in the read


def test_kernels_that_run_together_share_the_time_of_their_kind() -> None:
    """By hand: two kernels together for 10 ns of 20 and 30, a copy that is hidden for 25 of its 40 ns."""
    start_ns, end_ns = np.array([0, 10, 15]), np.array([20, 40, 55])
    found = divided(start_ns, end_ns, np.array([0, 0, 2], np.int8))
    assert found.tolist() == [15, 25, 15]


@pytest.mark.parametrize("seed", range(20))
def test_divided_work_equals_a_count_by_nanosecond(seed: int) -> None:
    rng = random.Random(seed)
    spans = [(begin, begin + rng.randrange(0, 30), rng.randrange(3)) for begin in rng.sample(range(80), 12)]
    expected = [Fraction(0)] * len(spans)
    for moment in range(120):
        running = [at for at, (begin, end, _) in enumerate(spans) if begin <= moment < end]
        first = min((spans[at][2] for at in running), default=-1)
        counts = [at for at in running if spans[at][2] == first]
        for at in counts:
            expected[at] += Fraction(1, len(counts))
    columns = np.array(spans).T
    found = divided(columns[0], columns[1], columns[2].astype(np.int8))
    assert found.tolist() == pytest.approx([float(each) for each in expected])


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_of_anything_sum_to_the_steps(seed: int, tmp_path: Path) -> None:
    """Work on two streams at random in and around steps, against the union by microsecond."""
    rng, program = random.Random(seed), Program(**META)
    for number in (1, 2):
        program.thread(number)
    update, at, spans = program.stack("/p/train.py:25 main"), 0, list[tuple[int, int]]()
    for number in range(5):
        begin = at
        for _ in range(rng.randrange(1, 6)):
            program.run(op("aten::mm", at, at + 20 * US, stack=update, sequence=number))
            correlation = len(spans)
            program.api_call("cudaLaunchKernel", at + US, at + 3 * US, correlation)
            start = at + rng.randrange(3, 60) * US
            end = start + rng.randrange(1, 50) * US
            program.kernel(
                rng.choice(["k", "ncclKernel"]), start, end, correlation, stream=rng.choice([7, 9])
            )
            spans.append((start, end))
            at += rng.randrange(20, 60) * US
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("MmBackward0", at, at + 10 * US, stack=update, **node))
        program.run(op("Optimizer.step#SGD.step", at + 10 * US, at + 30 * US, stack=update, scope=7))
        at += 30 * US
        assert begin < at
    program.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    trace = link(program.recording(tmp_path))
    found, times = account_of(trace), find(trace, StepTimes)[StepTimes]
    steps = times.steps.take(times.leading())
    ends = [max(at, *(end for _, end in spans)) if each == at else each for each in steps.end_ns.tolist()]
    windows = list(zip(steps.start_ns.tolist(), ends, strict=True))  # the last one until its work has ended
    moments = [each for start, end in windows for each in range(start, end, US)]
    assert found.of_steps
    assert found.time_ns == len(moments) * US
    assert found.busy_ns == US * sum(any(start <= each < end for start, end in spans) for each in moments)
    assert int(found.leaves.time_ns.sum()) == found.time_ns
    assert int(found.leaves.time_ns.min()) >= 0


@pytest.mark.parametrize(
    "name",
    ["vllm_decode_graphs", "sglang_decode", "a100_nccl", "h100_qwen_0.5b", "v100_resnet50_num_workers_0"],
)
def test_all_work_of_real_traces_is_in_it(name: str) -> None:
    """The union of all kernels and copies in the time of the steps, whoever launched them, by the JSON."""
    path = folder() / f"{name}.json.gz"
    trace = link(kineto.read(path))
    found, times = account_of(trace), find(trace, StepTimes)[StepTimes]
    steps = times.steps.take(times.leading())
    gaps_ns = int((steps.start_ns[1:] - steps.end_ns[:-1]).sum())  # less than 1 ms
    with gzip.open(path) as file:
        events = [event for event in json.load(file)["traceEvents"] if _is_work(event)]
    own = [event for event in events if int(event["args"]["device"]) == found.device]
    kernels = trace.recording[Kernels]
    shift_ns = int(kernels.start_ns[kernels.start_ns >= 0].min()) - min(
        round(float(event["ts"]) * 1000) for event in events if event["cat"].lower() == "kernel"
    )
    begun_ns = round(min(float(event["ts"]) for event in own) * 1000) + shift_ns
    first_ns = int(steps.start_ns[0]) if found.of_steps else begun_ns
    busy_ns, until_ns = 0, first_ns
    for event in sorted(own, key=lambda each: float(each["ts"])):
        start_ns = round(float(event["ts"]) * 1000) + shift_ns
        end_ns = min(start_ns + round(float(event["dur"]) * 1000), first_ns + found.time_ns + gaps_ns)
        busy_ns += max(end_ns - max(start_ns, until_ns), 0)
        until_ns = max(until_ns, end_ns)
    assert int(found.leaves.time_ns.sum()) == found.time_ns
    assert found.busy_ns == pytest.approx(busy_ns, abs=gaps_ns + 2 * len(own))  # times are rounded to ns


def _is_work(event: dict[str, Any]) -> bool:
    return event.get("ph") == "X" and event.get("cat", "").lower() in (
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "memcpy",
        "memset",
    )
