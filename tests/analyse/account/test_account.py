"""The account of steps against programs counted by hand."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.account import Account, LeafKind
from perfprobe.tables.ranges import RangeSource
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000
STEPS = 10
TRIES = 40
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
LOOP, MODEL = "/p/train.py:20 main", "/p/model.py:88 forward"


class Training:
    """Steps of 20 ms, one after another: data 2, forward 6, Python 3, backward 5, optimizer 4.

    late_ms: how much longer the Python takes in each fifth step. wait_ms: in how much of the Python of every
    step the thread waits for a processor. samples: whether there are any.
    """

    def __init__(
        self, *, late_ms: int = 0, wait_ms: int = 0, collect_ms: int = 0, samples: bool = True
    ) -> None:
        self.end_ns, self._samples, self._wait_ms, self._collect_ms = 0, samples, wait_ms, collect_ms
        self.program = Program(**META)
        self.program.thread(1)
        net = self.program.module("", "Net")
        self._loop = self.program.stack(LOOP)
        self._model = self.program.stack("/p/train.py:22 main", (MODEL, net))
        self._backward = self.program.stack("/p/train.py:24 main", ENGINE)
        self._update = self.program.stack("/p/train.py:25 main")
        for number in range(STEPS):
            self._step(number, late_ms if number % 5 == 4 else 0)
        stop = {"monotonic_ns": self.end_ns, "cpu_ns": self.end_ns}
        self.program.meta |= {"stop": stop}
        if wait_ms:
            for time_ns, sum_ns in ((0, 0), (self.end_ns, STEPS * wait_ms * MS)):
                self.program.row("thread_times", time_ns, 0, 0, sum_ns, 0, 0, 0)

    def _step(self, number: int, late_ms: int) -> None:
        at, program = self.end_ns, self.program
        python_ms = 3 + late_ms
        node = {"node_sequence": number, "node_thread": 1}
        program.run(op("enumerate(DataLoader)#_Next", at, at + 2 * MS, stack=self._loop, scope=7))
        self._look(at, at + 2 * MS, LOOP)
        at += 2 * MS
        program.run(op("aten::bmm", at, at + 6 * MS, stack=self._model, sequence=number))
        self._look(at, at + 6 * MS, "/p/train.py:22 main", MODEL)
        if self._collect_ms:
            begin = at + 2 * MS
            end = begin + self._collect_ms * MS
            program.named_range("gc", begin, end, source=int(RangeSource.PYTHON))
        at += 6 * MS
        self._look(at, at + python_ms * MS, "/p/train.py:23 main", wait_ns=self._wait_ms * MS)
        at += python_ms * MS
        program.run(op("BmmBackward0", at, at + 5 * MS, stack=self._backward, **node))
        self._look(at, at + 5 * MS, "/p/train.py:24 main", ENGINE)
        at += 5 * MS
        program.run(op("Optimizer.step#SGD.step", at, at + 4 * MS, stack=self._update, scope=7))
        self._look(at, at + 4 * MS, "/p/train.py:25 main")
        self.end_ns = at + 4 * MS

    def _look(self, start_ns: int, end_ns: int, *frames: str, wait_ns: int = 0) -> None:
        """Samples at every millisecond, just before its end. wait_ns: in the first ones."""
        if not self._samples:
            return
        for at in range(start_ns, end_ns, MS):
            waited_ns = min(wait_ns, MS)
            wait_ns -= waited_ns
            self.program.sample(at, at + MS - 1, *frames, cpu_ns=MS - waited_ns, wait_ns=waited_ns)


def account_of(trace: Trace) -> Account:
    findings = find(trace, StepTimes, StepHotspots, Account)
    return findings[Account]


def parts(found: Account, trace: Trace) -> dict[tuple[str, int], float]:
    """By kind and line, ms in all steps together. Line 0: none."""
    sums: Counter[tuple[str, int]] = Counter()
    leaves = found.leaves
    for kind, frame, time_ns in zip(
        leaves.kind.tolist(), leaves.frame.tolist(), leaves.time_ns.tolist(), strict=True
    ):
        line = trace.line(frame)
        sums[LeafKind(kind).name, line.line if line else 0] += time_ns
    return {key: time_ns / MS for key, time_ns in sums.items() if time_ns}


def made(training: Training, tmp_path: Path) -> tuple[Account, dict[tuple[str, int], float]]:
    trace = link(training.program.recording(tmp_path))
    found = account_of(trace)
    return found, parts(found, trace)


def test_every_part_is_what_the_program_did(tmp_path: Path) -> None:
    found, times_ms = made(Training(), tmp_path)
    steps = found.steps
    assert times_ms["LINE", 88] == pytest.approx(11 * steps, rel=0.02)  # forward and backward of one line
    assert times_ms["LINE", 23] == pytest.approx(3 * steps, rel=0.05)
    assert times_ms["LINE", 25] == pytest.approx(4 * steps, rel=0.05)
    assert sum(times_ms[key] for key in times_ms if key[0] == "DATA") == pytest.approx(2 * steps, rel=0.02)
    assert found.waited_ns is None
    assert not any(key[0] == "PROCESSOR" for key in times_ms)


def test_without_samples_what_no_range_names_is_not_explained(tmp_path: Path) -> None:
    found, times_ms = made(Training(samples=False), tmp_path)
    assert times_ms["UNEXPLAINED", 0] == pytest.approx(3 * found.steps, rel=0.05)
    assert times_ms["LINE", 25] == pytest.approx(4 * found.steps, rel=0.05)
    assert times_ms["LINE", 88] == pytest.approx(11 * found.steps, rel=0.02)


def test_work_in_one_step_of_five_keeps_its_weight(tmp_path: Path) -> None:
    found, times_ms = made(Training(late_ms=30), tmp_path)
    late = round((found.time_ns / MS - 20 * found.steps) / 30)
    assert late in (1, 2)
    assert times_ms["LINE", 23] == pytest.approx(3 * found.steps + 30 * late, rel=0.05)


def test_collections_are_taken_out_of_the_operator_around_them(tmp_path: Path) -> None:
    found, times_ms = made(Training(collect_ms=2), tmp_path)
    assert times_ms["LINE", 88] == pytest.approx(9 * found.steps, rel=0.02)
    collected = [time_ms for key, time_ms in times_ms.items() if key[0] == "COLLECTION"]
    assert sum(collected) == pytest.approx(2 * found.steps, rel=0.02)


def test_waiting_for_a_processor_is_taken_from_where_samples_saw_it(tmp_path: Path) -> None:
    found, times_ms = made(Training(wait_ms=2), tmp_path)
    assert times_ms["PROCESSOR", 0] == pytest.approx(2 * found.steps, rel=0.05)
    assert times_ms["LINE", 23] == pytest.approx(1 * found.steps, rel=0.25)
    assert times_ms["LINE", 88] == pytest.approx(11 * found.steps, rel=0.04)
    assert found.own_ns == pytest.approx(18 * MS * found.steps, rel=0.02)


def waited(
    program: Program, end_ns: int, waited_ns: int, tmp_path: Path
) -> tuple[Account, dict[tuple[str, int], float]]:
    """The account of a program that ended at this time, after it waited this long for a processor."""
    program.meta |= {"stop": {"monotonic_ns": end_ns, "cpu_ns": end_ns}}
    for time_ns, sum_ns in ((0, 0), (end_ns, waited_ns)):
        program.row("thread_times", time_ns, 0, 0, sum_ns, 0, 0, 0)
    trace = link(program.recording(tmp_path))
    found = account_of(trace)
    return found, parts(found, trace)


def test_a_wait_is_that_of_the_call_that_took_longer_than_others(tmp_path: Path) -> None:
    """A look each 20 ms sees the end of the step, where nothing waited. Each fifth product waits for 8 ms."""
    program, at = Program(**META), 0
    program.thread(1)
    product, other = program.stack("/p/train.py:30 main"), program.stack("/p/train.py:31 main")
    update = program.stack("/p/train.py:32 main")
    for number in range(20):
        begin, wait_ns = at, 8 * MS if number % 5 == 4 else 0
        program.run(op("aten::mm", at, at + 6 * MS + wait_ns, stack=product))
        at += 6 * MS + wait_ns
        program.run(op("aten::exp", at, at + 6 * MS, stack=other))
        at += 6 * MS
        program.run(op("MmBackward0", at, at + 1000, stack=update, node_sequence=number, node_thread=1))
        program.run(op("Optimizer.step#SGD.step", at + 1000, at + MS, stack=update, scope=7))
        at += MS
        program.sample(begin, at - 1, "/p/train.py:32 main", cpu_ns=13 * MS, wait_ns=wait_ns)
    found, times_ms = waited(program, at, 4 * 8 * MS, tmp_path)
    assert times_ms["LINE", 30] == pytest.approx(6 * found.steps, rel=0.03)
    assert times_ms["LINE", 31] == pytest.approx(6 * found.steps, rel=0.03)


def test_a_wait_without_a_sample_is_that_of_its_own_phase(tmp_path: Path) -> None:
    """The thread waits for 6 ms between a model's operators, where no sample is; the next sees the Python."""
    program, at = Program(**META), 0
    program.thread(1)
    model = program.stack("/p/train.py:22 main", (MODEL, program.module("", "Net")))
    update = program.stack("/p/train.py:32 main")
    for number in range(20):
        program.run(op("aten::mm", at, at + 1 * MS, stack=model, sequence=number))
        program.run(op("aten::exp", at + 8 * MS, at + 9 * MS, stack=model))
        program.row("wait_readings", at + 1 * MS, at + 8 * MS, 0, 6 * MS)
        node = {"stack": update, "node_sequence": number, "node_thread": 1}
        program.run(op("MmBackward0", at + 14 * MS, at + 15 * MS, **node))
        program.run(op("Optimizer.step#SGD.step", at + 15 * MS, at + 16 * MS, stack=update, scope=7))
        program.sample(at + 2 * MS, at + 12 * MS, "/p/train.py:31 main", cpu_ns=4 * MS, wait_ns=0)
        at += 16 * MS
    found, times_ms = waited(program, at, 20 * 6 * MS, tmp_path)
    assert times_ms["LINE", 88] == pytest.approx(3 * found.steps, rel=0.03)
    assert times_ms["LINE", 31] == pytest.approx(5 * found.steps, rel=0.03)


def test_backward_on_autograds_thread_is_that_of_its_lines(tmp_path: Path) -> None:
    """As with a GPU: the loop's thread waits 9 ms for autograd's, which runs 2 and 6 ms of two lines."""
    program, at = Program(**META), 0
    program.thread(1)
    autograd = program.thread(2)
    lines = [program.stack("/p/train.py:30 main"), program.stack("/p/train.py:31 main")]
    calls = ("/p/train.py:24 main", "/env/site-packages/torch/_tensor.py:581 backward", ENGINE)
    engine, update = program.stack(*calls), program.stack("/p/train.py:32 main")
    for number in range(10):
        for each, stack in enumerate(lines):
            program.run(op("aten::mm", at, at + MS, stack=stack, sequence=2 * number + each))
            at += MS
        program.run(op("aten::ones_like", at, at + 1000, stack=engine))
        for begin, length, each in ((1, 2, 0), (3, 6, 1)):
            node = {"node_sequence": 2 * number + each, "node_thread": 1}
            start = at + begin * MS
            program.run(op("MmBackward0", start, start + length * MS, **node), thread=autograd)
        program.sample(at, at + 9 * MS - 1, *calls, cpu_ns=0)
        at += 9 * MS
        program.run(op("Optimizer.step#SGD.step", at, at + MS, stack=update, scope=7))
        at += MS
    program.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    trace = link(program.recording(tmp_path))
    found = account_of(trace)
    times_ms = parts(found, trace)
    assert times_ms["LINE", 30] == pytest.approx((1 + 9 * 2 / 8) * found.steps, rel=0.05)
    assert times_ms["LINE", 31] == pytest.approx((1 + 9 * 6 / 8) * found.steps, rel=0.05)


@pytest.mark.parametrize("seed", range(8))
def test_the_parts_sum_to_the_steps_and_none_is_negative(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    training = Training(
        late_ms=rng.choice([0, 7, 40]),
        wait_ms=rng.choice([0, 1, 3]),
        collect_ms=rng.choice([0, 1, 4]),
        samples=rng.random() < 0.7,
    )
    trace = link(training.program.recording(tmp_path))
    found, times = account_of(trace), find(trace, StepTimes)[StepTimes]
    assert int(found.leaves.time_ns.sum()) == found.time_ns
    assert int(found.leaves.time_ns.min()) >= 0
    counted = times.steps.take(times.steps.counted())
    assert found.time_ns == int((counted.end_ns - counted.start_ns).sum())
    assert sum(found.phases().values()) == found.own_ns


def test_the_error_of_a_line_covers_the_truth(tmp_path: Path) -> None:
    """Python runs 3 of 10 ms at one line and 7 at another; 8 samples a step at random moments."""
    rng, covered = random.Random(0), 0
    for _ in range(TRIES):
        program = Program(**META | {"stop": {"monotonic_ns": 4 * 11 * MS, "cpu_ns": 4 * 11 * MS}})
        program.thread(1)
        update = program.stack("/p/train.py:25 main")
        for at in range(0, 4 * 11 * MS, 11 * MS):
            moments = sorted(rng.randrange(at, at + 10 * MS) for _ in range(8))
            for begin, end in zip([at, *moments], moments, strict=False):
                at_line = 30 if end - at < 3 * MS else 31
                program.sample(begin, end, f"/p/train.py:{at_line} main", cpu_ns=end - begin)
            program.run(op("Optimizer.step#SGD.step", at + 10 * MS, at + 11 * MS, stack=update, scope=7))
        trace = link(program.recording(tmp_path))
        found = account_of(trace)
        (line,) = (each for each in found.lines() if trace.line(each.frame) == ("/p/train.py", 30, "main"))
        covered += abs(line.time_ns - 3 * MS * found.steps) <= line.error_ns
    assert covered >= 0.85 * TRIES
