"""Modules of which no backward runs, and lines that call modules of several classes, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from tests.build import Op, Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

MS = 1_000_000
STEPS = 12
CALL = "/env/site-packages/torch/nn/modules/module.py:1773 _call_impl"
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
SHARED, OTHER = "/p/block.py:46 forward", "/p/block.py:47 forward"


class Steps:
    """Steps of these calls: the stack, ms of forward, whether backward follows that takes as long."""

    def __init__(self, program: Program, calls: Sequence[tuple[int, float, bool]]) -> None:
        self.at, self.number = 0, 0
        update, engine = program.stack("/p/train.py:32 main"), program.stack("/p/train.py:31 main", ENGINE)
        for _ in range(STEPS):
            nodes = [self._forward(program, *call) for call in calls]
            for time_ns, number in reversed([node for node in nodes if node is not None]):
                node = {"stack": engine, "node_sequence": number, "node_thread": 1}
                self._run(program, op("MmBackward0", self.at, self.at + time_ns, **node))
            self._run(program, op("Optimizer.step#SGD.step", self.at, self.at + MS, stack=update, scope=7))
        program.meta |= {"stop": {"monotonic_ns": self.at, "cpu_ns": self.at}}

    def _forward(self, program: Program, stack: int, ms: float, is_trained: bool) -> tuple[int, int] | None:
        number, time_ns = self.number if is_trained else -1, int(ms * MS)
        self._run(program, op("aten::mm", self.at, self.at + time_ns, stack=stack, sequence=number))
        self.number += is_trained
        return (time_ns, number) if is_trained else None

    def _run(self, program: Program, operator: Op) -> None:
        program.run(operator)
        self.at = operator.end_ns


def training() -> Program:
    program = Program(**META)
    program.thread(1)
    return program


def judged(program: Program, folder: Path) -> list[Diagnosis]:
    return list(found(program, folder)[Diagnoses].found)


@pytest.mark.parametrize("in_one", [True, False])
def test_a_teacher_is_named_where_it_shares_its_lines(tmp_path: Path, in_one: bool) -> None:
    """in_one: whether both are parts of one module."""
    program = training()
    whole = program.module("", "Distilled") if in_one else -1
    kinds = ("ResNet", "ResNet") if in_one else ("ResNet", "Student")
    teacher, student = (
        program.module(name, kind, whole) for name, kind in zip(("teacher", "student"), kinds, strict=True)
    )
    stacks = [
        program.stack(f"/p/train.py:{line} main", CALL, (SHARED, module))
        for line, module in ((20, teacher), (21, student))
    ]
    Steps(program, [(stacks[0], 8, False), (stacks[1], 4, True)])
    first = judged(program, tmp_path)[0]
    assert first.cause is Cause.FORWARD_ONLY
    assert first.stands_out
    assert first.share == pytest.approx(8 / 17, abs=0.01)
    line = next(each for each in judged(program, tmp_path) if each.cause is Cause.LINE)
    assert line.share == pytest.approx(8 / 17, abs=0.01)


@pytest.mark.parametrize(("teacher_ms", "is_trained"), [(1.5, False), (8, True)])
def test_a_small_or_trained_one_is_not(tmp_path: Path, teacher_ms: float, is_trained: bool) -> None:
    program = training()
    modules = program.module("teacher", "ResNet"), program.module("student", "Student")
    stacks = [program.stack("/p/train.py:20 main", CALL, (SHARED, module)) for module in modules]
    Steps(program, [(stacks[0], teacher_ms, is_trained), (stacks[1], 4, True)])
    assert all(each.cause is not Cause.FORWARD_ONLY for each in judged(program, tmp_path))


def test_one_of_which_backward_is_short_is_not(tmp_path: Path) -> None:
    program = training()
    model, loss = program.module("", "Net"), program.module("", "Loss")
    at = "/p/train.py:20 main"
    stacks = [program.stack(at, CALL, (SHARED, model)), program.stack(at, CALL, (OTHER, loss))]
    Steps(program, [(stacks[0], 9, False), (stacks[0], 0.001, True), (stacks[1], 1, True)])
    assert all(each.cause is not Cause.FORWARD_ONLY for each in judged(program, tmp_path))


def of_layers(layers: Sequence[tuple[str, str, float]], folder: Path) -> list[Diagnosis]:
    """A program of which one line calls these modules: name, class, ms."""
    program = training()
    net = program.module("net", "Net")
    modules = [program.module(name, kind, net) for name, kind, _ in layers]
    forward = "/p/net.py:9 forward"
    stacks = [program.stack("/p/train.py:20 main", CALL, (forward, module)) for module in modules]
    other = program.stack("/p/train.py:20 main", CALL, (OTHER, net))
    Steps(
        program,
        [*((stack, ms, True) for stack, (*_, ms) in zip(stacks, layers, strict=True)), (other, 8, True)],
    )
    return judged(program, folder)


def test_of_a_loop_over_modules_the_classes_are_named(tmp_path: Path) -> None:
    layers = [("0", "Conv2d", 4), ("1", "MaxPool2d", 3), ("2", "Conv2d", 2), ("3", "GELU", 1)]
    of_classes = [each for each in of_layers(layers, tmp_path) if each.cause is Cause.MODULES]
    assert [(each.module, each.stands_out) for each in of_classes][:2] == [
        ("2 Conv2d of Net", True),
        ("1 MaxPool2d of Net", False),
    ]
    assert of_classes[0].share == pytest.approx(12 / 37, abs=0.01)


@pytest.mark.parametrize(
    "layers",
    [
        [("0", "Conv2d", 9), ("1", "GELU", 1)],  # nearly all is of one class
        [("conv", "Conv2d", 6), ("pool", "MaxPool2d", 4)],  # each has a name in the line
        [(str(at), f"Layer{at}", 1) for at in range(10)],  # none stands out
    ],
)
def test_else_the_line_is(tmp_path: Path, layers: list[tuple[str, str, float]]) -> None:
    assert all(each.cause is not Cause.MODULES for each in of_layers(layers, tmp_path))
