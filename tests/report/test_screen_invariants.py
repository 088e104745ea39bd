"""A first screen never contradicts itself: stored traces, and random programs."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
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
