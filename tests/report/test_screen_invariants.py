"""A first screen never contradicts itself: stored traces, and random programs."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.gpu import CopyKind
from tests.build import Op, Program, op
from tests.report.invariants import violations
from tests.report.test_text import META

MS = 1_000_000
TRACES = sorted(Path(os.environ.get("PERFPROBE_TRACES", "/nowhere")).glob("*.json.gz"))
SEEDS = range(40)
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_of_stored_traces(path: Path) -> None:
    assert violations(Results(str(path)).document(View())["tables"]) == []


class Random:
    """Steps of random parts: loader, lines of forward, backward, Python, collections, optimizer, waiting."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.program = Program(**META)
        self.program.thread(1)
        self.at_ns, self.waited_ns = 0, 0
        self.samples = self.rng.random() < 0.7
        self.is_busy = self.rng.random() < 0.5
        self.weights = {name: self.rng.choice([0, 1, 1, 3, 10]) for name in ("load", "python", "update")}
        self.lines = [self.rng.choice([1, 1, 2, 8]) for _ in range(self.rng.randrange(1, 9))]
        net = self.program.module("", "Net")
        self.models = [
            self.program.stack("/p/train.py:22 main", (f"/p/model.py:{88 + at} forward", net))
            for at in range(len(self.lines))
        ]
        self.stacks = {line: self.program.stack(f"/p/train.py:{line} main") for line in range(20, 30)}
        self.backward = self.program.stack("/p/train.py:24 main", ENGINE)

    def look(self, start_ns: int, end_ns: int, *frames: str) -> None:
        if self.samples and end_ns > start_ns:
            wait_ns = self.rng.randrange(end_ns - start_ns) if self.is_busy else 0
            self.waited_ns += wait_ns
            self.program.sample(
                start_ns, end_ns - 1, *frames, cpu_ns=end_ns - start_ns - wait_ns, wait_ns=wait_ns
            )

    def run(self, made: Op, *frames: str) -> None:
        self.program.run(made)
        self.launched(made)
        self.look(made.start_ns, made.end_ns, *frames)
        self.at_ns = made.end_ns

    def length(self, weight: int) -> int:
        return int(weight * MS * self.rng.uniform(0.5, 1.5))

    def step(self, number: int) -> None:
        load_ns = self.length(self.weights["load"])
        if load_ns:
            at = {"stack": self.stacks[20], "scope": 7}
            made = op("enumerate(DataLoader)#_Next", self.at_ns, self.at_ns + load_ns, **at)
            self.run(made, "/p/train.py:20 main")
        for each, weight in enumerate(self.lines):
            end_ns = self.at_ns + self.length(weight)
            facts = {"stack": self.models[each], "sequence": number * 10 + each}
            made = op("aten::mm", self.at_ns, end_ns, **facts)
            self.run(made, "/p/train.py:22 main", f"/p/model.py:{88 + each} forward")
        python_ns = self.length(self.weights["python"]) * (5 if self.rng.random() < 0.2 else 1)
        self.look(self.at_ns, self.at_ns + python_ns, "/p/train.py:23 main")
        self.at_ns += python_ns
        for each, weight in reversed(list(enumerate(self.lines))):
            node = {"node_sequence": number * 10 + each, "node_thread": 1, "stack": self.backward}
            made = op("MmBackward0", self.at_ns, self.at_ns + self.length(weight), **node)
            self.run(made, "/p/train.py:24 main", ENGINE)
        end_ns = self.at_ns + self.length(self.weights["update"]) + 1000
        at = {"stack": self.stacks[25], "scope": 7}
        self.run(op("Optimizer.step#SGD.step", self.at_ns, end_ns, **at), "/p/train.py:25 main")

    def launched(self, made: Op) -> None:
        """Work of an operator on a GPU. Only programs with one have any."""

    def made(self) -> Program:
        for number in range(self.rng.randrange(2, 12)):
            self.step(number)
        self.program.meta |= {"stop": {"monotonic_ns": self.at_ns, "cpu_ns": self.at_ns}}
        if self.is_busy:
            for time_ns, wait_ns in ((0, 0), (self.at_ns, self.waited_ns)):
                self.program.row("thread_times", time_ns, 0, 0, wait_ns, 0, 0, 0)
        return self.program


@pytest.mark.parametrize("seed", SEEDS)
def test_of_random_programs(seed: int, tmp_path: Path) -> None:
    path = Random(seed).made().recording(tmp_path).path
    assert violations(Results(path).document(View())["tables"]) == []


class OnGpu(Random):
    """The same, with kernels on two streams, copies, collectives, and reads that wait for all of them."""

    queued_ns, number = 0, 0

    def launched(self, made: Op) -> None:
        if made.name.startswith("enumerate") or self.rng.random() < 0.1:
            return
        for _ in range(self.rng.randrange(1, 4)):
            self.number += 1
            call_ns = self.rng.randrange(made.start_ns, made.end_ns)
            self.program.api_call("cudaLaunchKernel", call_ns, call_ns + 2000, self.number)
            begin_ns = max(call_ns + 5000, self.queued_ns if self.rng.random() < 0.8 else 0)
            end_ns = begin_ns + self.length(self.rng.choice([0, 1, 1, 4])) + 1000
            name = self.rng.choice(["gemm", "relu", "ncclDevKernel_AllReduce", "copy"])
            if name == "copy":
                self.program.copy(CopyKind.HOST_TO_DEVICE, begin_ns, end_ns, self.number, source=2)
            else:
                stream = self.rng.choice([7, 7, 9])
                self.program.kernel(name, begin_ns, end_ns, self.number, stream=stream)
            self.queued_ns = max(self.queued_ns, end_ns)
        if self.rng.random() < 0.2 and self.queued_ns > made.end_ns:
            self.number += 1
            self.program.api_call("cudaDeviceSynchronize", made.end_ns, self.queued_ns, self.number)
            made.end_ns = self.queued_ns


@pytest.mark.parametrize("seed", SEEDS)
def test_of_random_programs_with_a_gpu(seed: int, tmp_path: Path) -> None:
    path = OnGpu(seed).made().recording(tmp_path).path
    tables = Results(path).document(View())["tables"]
    assert violations(tables) == []
    assert tables["gpu_account"]
