"""Waiting for ranks, the lock and a GPU in the account, against programs counted by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.account import Account, LeafKind
from perfprobe.tables.gpu import CopyKind, WaitKind
from perfprobe.tables.ranges import RangeSource
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace
from tests.analyse.account.test_account import account_of, parts
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000
STEPS = 10
LINES = {number: f"/p/train.py:{number} main" for number in range(19, 27)}


class Waiting:
    """Steps of 20 ms. Line 20 asks for data, 2 ms; 21 multiplies, 8; 22 and 23 wait, 3 and 2; 24 updates.

    A subclass says what is waited for.
    """

    def __init__(self, *, samples: bool = True) -> None:
        self.end_ns, self.samples, self.correlation = 0, samples, 0
        self.program = Program(**META)
        self.program.thread(1)
        self.other = self.program.thread(2)
        for number in range(STEPS):
            self._step(number)
        self.program.meta |= {"stop": {"monotonic_ns": self.end_ns, "cpu_ns": self.end_ns}}

    def stack(self, line: int) -> int:
        return self.program.stack(LINES[line])

    def look(self, start_ns: int, end_ns: int, line: int, **fields: int) -> None:
        for at in range(start_ns, end_ns, MS) if self.samples else ():
            self.program.sample(at, at + MS - 1, LINES[line], **{"cpu_ns": MS, **fields})

    def gpu_wait(self, start_ns: int, end_ns: int) -> None:
        self.correlation += 1
        self.program.api_call("cudaStreamSynchronize", start_ns, end_ns, self.correlation)
        self.program.gpu_wait(WaitKind.STREAM, start_ns, end_ns, self.correlation)

    def kernel(self, start_ns: int, end_ns: int) -> None:
        self.correlation += 1
        self.program.api_call("cudaLaunchKernel", start_ns, start_ns + 1000, self.correlation)
        self.program.kernel("gemm", start_ns + 2000, end_ns, self.correlation)

    def _step(self, number: int) -> None:
        at, program = self.end_ns, self.program
        program.run(op("enumerate(DataLoader)#_Next", at, at + 2 * MS, stack=self.stack(20), scope=7))
        self.look(at, at + 2 * MS, 20)
        self.in_data(at, at + 2 * MS)
        at += 2 * MS
        program.run(op("aten::bmm", at, at + 8 * MS, stack=self.stack(21), sequence=number))
        self.look(at, at + 8 * MS, 21)
        self.in_product(at, at + 8 * MS)
        at += 8 * MS
        self.first(at, at + 3 * MS)
        at += 3 * MS
        self.second(at, at + 2 * MS)
        at += 2 * MS
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("BmmBackward0", at, at + 1 * MS, stack=self.stack(24), **node))
        self.look(at, at + 1 * MS, 24)
        at += 1 * MS
        program.run(op("Optimizer.step#SGD.step", at, at + 4 * MS, stack=self.stack(24), scope=7))
        self.look(at, at + 4 * MS, 24)
        self.end_ns = at + 4 * MS

    def in_data(self, start_ns: int, end_ns: int) -> None: ...

    def in_product(self, start_ns: int, end_ns: int) -> None: ...

    def first(self, start_ns: int, end_ns: int) -> None: ...

    def second(self, start_ns: int, end_ns: int) -> None: ...


class ForGpu(Waiting):
    """`.item()` reads at line 22, `synchronize()` waits at 23; 1 ms each of data and product wait too."""

    def in_data(self, start_ns: int, end_ns: int) -> None:
        self.gpu_wait(start_ns, start_ns + MS)

    def in_product(self, start_ns: int, end_ns: int) -> None:
        self.kernel(start_ns, end_ns)
        self.correlation += 1
        self.program.api_call("cudaMemcpyAsync", end_ns - 2 * MS, end_ns - MS, self.correlation)
        self.program.copy(
            CopyKind.DEVICE_TO_HOST, end_ns - 2 * MS, end_ns - MS, self.correlation, destination=1
        )

    def first(self, start_ns: int, end_ns: int) -> None:
        read = op("aten::_local_scalar_dense", start_ns, end_ns, stack=self.stack(22))
        self.program.run(op("aten::item", start_ns, end_ns, read, stack=self.stack(22)))
        self.look(start_ns, end_ns, 22, cpu_ns=0)
        self.gpu_wait(start_ns, end_ns)

    def second(self, start_ns: int, end_ns: int) -> None:
        self.correlation += 1
        at = self.stack(23)
        self.program.api_call("cudaDeviceSynchronize", start_ns, end_ns, self.correlation, stack=at)
        self.look(start_ns, end_ns, 23, cpu_ns=0)


class ForRanks(Waiting):
    """A collective at line 22 runs for 3 ms on another thread; line 23 computes while one runs."""

    def first(self, start_ns: int, end_ns: int) -> None:
        self.program.run(op("c10d::allreduce_", start_ns, start_ns + MS, stack=self.stack(22)))
        self.program.run(op("gloo:all_reduce", start_ns, end_ns, scope=7), thread=self.other)
        self.look(start_ns, end_ns, 22, cpu_ns=0)

    def second(self, start_ns: int, end_ns: int) -> None:
        self.program.run(op("gloo:all_reduce", start_ns, end_ns, scope=7), thread=self.other)
        self.look(start_ns, end_ns, 23)


class ForLock(Waiting):
    """Samples find the thread in the wait for the lock at line 22, and at half of them at line 23."""

    def first(self, start_ns: int, end_ns: int) -> None:
        self.look(start_ns, end_ns, 22, cpu_ns=0, lock_looks=1)

    def second(self, start_ns: int, end_ns: int) -> None:
        for at in (start_ns, start_ns + MS):
            self.program.sample(at, at + MS - 1, LINES[23], cpu_ns=MS // 2, looks=2, lock_looks=1)


def made(waiting: Waiting, where: Path) -> tuple[Account, dict[tuple[str, int], float], Trace]:
    trace = link(waiting.program.recording(where))
    found = account_of(trace)
    times_ms = {key: time_ms / found.steps for key, time_ms in parts(found, trace).items()}
    assert int(found.leaves.time_ns.sum()) == found.time_ns
    assert int(found.leaves.time_ns.min()) >= 0
    return found, times_ms, trace


@pytest.mark.parametrize("samples", [True, False])
def test_waits_for_a_gpu_are_at_the_lines_that_wait(samples: bool, tmp_path: Path) -> None:
    _, times_ms, _ = made(ForGpu(samples=samples), tmp_path)
    assert times_ms["GPU", 22] == pytest.approx(3, rel=0.01)
    assert times_ms["GPU", 23] == pytest.approx(2, rel=0.01)
    assert times_ms["GPU", 21] == pytest.approx(1, rel=0.01)  # the copy of pageable memory
    assert times_ms["LINE", 21] == pytest.approx(7, rel=0.02)
    assert times_ms["LINE", 24] == pytest.approx(5, rel=0.02)
    assert times_ms.get(("LINE", 22), 0) + times_ms.get(("LINE", 23), 0) < 0.05


@pytest.mark.parametrize("samples", [True, False])
def test_waiting_for_data_comes_before_waiting_for_a_gpu(samples: bool, tmp_path: Path) -> None:
    _, times_ms, _ = made(ForGpu(samples=samples), tmp_path)
    assert sum(value for key, value in times_ms.items() if key[0] == "DATA") == pytest.approx(2, rel=0.01)


def test_a_thread_that_stands_still_in_a_collective_waits_for_ranks(tmp_path: Path) -> None:
    _, times_ms, _ = made(ForRanks(), tmp_path)
    assert times_ms["RANKS", 22] == pytest.approx(3, rel=0.02)
    assert times_ms["LINE", 23] == pytest.approx(2, rel=0.05)
    assert ("RANKS", 23) not in times_ms


def test_samples_in_the_lock_are_waiting_for_it(tmp_path: Path) -> None:
    _, times_ms, _ = made(ForLock(), tmp_path)
    assert times_ms["LOCK", 22] == pytest.approx(3, abs=0.3)  # a third of a look
    assert times_ms["LOCK", 23] == pytest.approx(1, abs=0.3)
    assert times_ms["LINE", 23] == pytest.approx(1, abs=0.3)


class InOrder(Waiting):
    """At line 22 for 3 ms a collective's call that synchronizes. A collection is in it."""

    def __init__(self, *, collect: bool) -> None:
        self._collect = collect
        super().__init__()

    def first(self, start_ns: int, end_ns: int) -> None:
        self.program.run(op("c10d::barrier", start_ns, end_ns, stack=self.stack(22)))
        self.gpu_wait(start_ns, end_ns)
        self.look(start_ns, end_ns, 22, cpu_ns=0)
        if self._collect:
            begin = start_ns + MS // 2
            self.program.named_range("gc", begin, begin + MS, source=int(RangeSource.PYTHON))


@pytest.mark.parametrize("collect", [True, False])
def test_collections_come_before_ranks_and_ranks_before_a_gpu(collect: bool, tmp_path: Path) -> None:
    _, times_ms, _ = made(InOrder(collect=collect), tmp_path)
    assert times_ms["RANKS", 22] == pytest.approx(2 if collect else 3, rel=0.02)
    assert not any(key[0] == "GPU" for key in times_ms)
    collected = sum(value for key, value in times_ms.items() if key[0] == "COLLECTION")
    assert collected == pytest.approx(1 if collect else 0, rel=0.02)


@pytest.mark.parametrize("seed", range(10))
def test_waits_of_a_gpu_equal_a_count_by_microsecond(seed: int, tmp_path: Path) -> None:
    """Operators, waits and collections at random, against a look at each microsecond of the steps."""
    rng, us = random.Random(seed), 1000
    program, at = Program(**META), 0
    program.thread(1)
    waits, collections, correlation = list[tuple[int, int]](), list[tuple[int, int]](), 0
    for number in range(6):
        for _ in range(rng.randrange(2, 6)):
            long = rng.randrange(10, 200) * us
            in_operator = rng.random() < 0.6
            if in_operator:
                program.run(op("aten::mm", at, at + long, stack=program.stack(LINES[21]), sequence=number))
            begin = at + rng.randrange(0, long // (2 * us)) * us
            end = begin + rng.randrange(1, long // (2 * us)) * us
            correlation += 1
            program.api_call("cudaStreamSynchronize", begin, end, correlation)
            program.gpu_wait(WaitKind.STREAM, begin, end, correlation)
            waits.append((begin, end))
            if rng.random() < 0.3:
                collections.append((at, at + long // (3 * us) * us))
            at += long + rng.randrange(0, 30) * us
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("MmBackward0", at, at + 50 * us, stack=program.stack(LINES[24]), **node))
        at += 50 * us
        program.run(op("Optimizer.step#SGD.step", at, at + 90 * us, stack=program.stack(LINES[24]), scope=7))
        at += 90 * us
    for begin, end in collections:
        program.named_range("gc", begin, end, source=int(RangeSource.PYTHON))
    program.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    trace = link(program.recording(tmp_path))
    found, times = account_of(trace), find(trace, StepTimes)[StepTimes]
    steps = times.steps.take(times.leading())
    spans = list(zip(steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True))

    def within(spans: list[tuple[int, int]], moment: int) -> bool:
        return any(start <= moment < end for start, end in spans)

    moments = [each for each in range(0, at, us) if within(spans, each) and within(waits, each)]
    expected = sum(us for each in moments if not within(collections, each))
    leaves = found.leaves
    assert int(leaves.time_ns[leaves.kind == LeafKind.GPU].sum()) == expected
    assert int(leaves.time_ns.sum()) == found.time_ns
