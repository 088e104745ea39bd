"""Graphs, updates, logs, collections and modes: what each rule proposes, and where it must be silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.models.rules import RULES
from perfprobe.tables.account import LeafKind
from perfprobe.tables.advice import Advice, Check
from perfprobe.tables.compilations import Compilations, CompiledFunction
from perfprobe.tables.modes import Mode, Modes
from perfprobe.tables.steps import StepKind, StepPhase, Steps, StepTimes
from perfprobe.tables.trace import Line
from tests.build import Program, op
from tests.diagnose.advice.made import (
    ADAM,
    MS,
    OF_HERE,
    STEPS,
    Part,
    advised,
    changes,
    judged,
    program,
    with_leaf,
)
from tests.diagnose.test_short_operators import READ
from tests.report.test_screen_short import short
from tests.report.test_text import META

SOURCE = [
    *("import torch", "", "", "", "", "def main():"),
    "    opt = torch.optim.Adam(model.parameters(), lr=1e-3)",
    *[""] * 16,
    "    opt.step()",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def update(calls: int, name: str = "aten::addcmul_", ms: float = 20) -> Part:
    return Part("Optimizer.step#Adam.step", ms, 24, calls, "", 7, name, ADAM)


@pytest.mark.parametrize(
    ("part", "is_said"),
    [
        (update(40), True),
        (update(8), False),
        (update(40, ms=2), False),
        (update(40, "aten::_foreach_addcmul_"), False),
        (update(40, "aten::_fused_adam_"), False),
    ],
    ids=["by parameter", "two tensors", "short", "foreach", "fused"],
)
def test_one_call_for_all_parameters(here: Path, part: Part, is_said: bool) -> None:
    made = program(part, folder=str(here), source=SOURCE, update_ms=0.001)
    found = advised(made, here)
    assert ("optimizer" in found) is is_said
    if is_said:
        change = found["optimizer"]
        assert change.snippet.partition(", ")[2] == "lr=1e-3, fused=True)"
        assert (change.line and change.line.line, change.tries) == (7, ("foreach", "fused"))


@pytest.mark.parametrize(
    ("argument", "is_said"), [("foreach=False", True), ("fused=True", False), ("**options", False)]
)
def test_an_optimizer_with_arguments(here: Path, argument: str, is_said: bool) -> None:
    source = [line.replace("lr=1e-3", argument) for line in SOURCE]
    found = advised(program(update(40), folder=str(here), source=source, update_ms=0.001), here)
    assert ("optimizer" in found) is is_said


@pytest.mark.parametrize(
    ("name", "ms", "is_said"),
    [("aten::zero_", 4, True), ("aten::detach_", 4, False), ("aten::zero_", 0.2, False), ("", 4, False)],
    ids=["zeros", "other operators", "short", "None already, and zeros elsewhere"],
)
def test_gradients_of_zeros(tmp_path: Path, name: str, ms: float, is_said: bool) -> None:
    part = Part("Optimizer.zero_grad#SGD.zero_grad", ms, 23, 4, "", 7, name)
    elsewhere = [] if name else [Part("aten::zero_", 1, 23)]
    found = advised(program(part, *elsewhere), tmp_path)
    assert ("set-to-none" in found) is is_said
    if is_said:
        assert found["set-to-none"].check is Check.SAME_BITS


@pytest.mark.parametrize(
    ("kind", "graph", "is_said"),
    [
        (StepKind.EVALUATION, 1, True),
        (StepKind.INFERENCE, 1, True),
        (StepKind.EVALUATION, 0, False),
        (StepKind.TRAINING, 1, False),
        (StepKind.EVALUATION, -1, False),
    ],
)
def test_graphs_that_nothing_uses(tmp_path: Path, kind: StepKind, graph: int, is_said: bool) -> None:
    """Half of the steps are of that kind. A quarter of their time is the most that is known to be saved."""
    findings = judged(program(), tmp_path)
    times = findings[StepTimes]
    kinds, graphs = times.steps.kind.copy(), times.steps.graph.copy()
    kinds[::2], graphs[::2] = kind, graph
    steps = Steps(**times.steps.columns() | {"kind": kinds, "graph": graphs})
    found = changes(diagnosed(findings.plus(replace(times, steps=steps))))
    assert ("no-grad" in found) is is_said
    if is_said:
        assert found["no-grad"].share == pytest.approx(0.5 * 0.25, abs=0.01)
        assert found["no-grad"].snippet.startswith("with torch.no_grad():\n")
        assert found["no-grad"].tries == ("no-grad",)


@pytest.mark.parametrize(
    ("slower", "steps", "share"), [(3.0, 6, 2 / 3 * 6 / 8), (None, 8, 0.8), (1.0, 6, None), (3.0, 1, None)]
)
def test_modes_left_on(tmp_path: Path, slower: float | None, steps: int, share: float | None) -> None:
    mode = Mode("anomaly mode", Line("/p/train.py", 3, "main"), 1, steps, STEPS, slower)
    found = advised(program(), tmp_path, Modes((mode,)))
    assert ("mode" in found) is (share is not None)
    if share is not None:
        assert found["mode"].share == pytest.approx(share)


@pytest.mark.parametrize(
    ("kind", "phase", "share", "steps", "rule"),
    [
        (LeafKind.COLLECTION, StepPhase.COLLECTION, 0.02, STEPS, "collection"),
        (LeafKind.COLLECTION, StepPhase.COLLECTION, 0.005, STEPS, None),
        (LeafKind.LINE, StepPhase.LOGGING, 0.1, STEPS, "logging"),
        (LeafKind.LINE, StepPhase.LOGGING, 0.01, STEPS, None),
        (LeafKind.LINE, StepPhase.SAVING, 0.1, 1, None),
        (LeafKind.LINE, StepPhase.OTHER, 0.1, STEPS, None),
    ],
    ids=["collects", "hardly", "logs", "hardly", "once", "something else"],
)
def test_collections_and_logs(
    tmp_path: Path, kind: LeafKind, phase: StepPhase, share: float, steps: int, rule: str | None
) -> None:
    found = changes(with_leaf(judged(program(), tmp_path), kind, phase, share, steps))
    assert [each for each in found if each in ("collection", "logging")] == ([rule] if rule else [])
    if rule:
        assert found[rule].share == pytest.approx(share * RULES[rule].part, abs=0.001)


@pytest.mark.parametrize(("share", "is_said"), [(0.2, True), (0.05, False)])
def test_waiting_for_the_lock(tmp_path: Path, share: float, is_said: bool) -> None:
    found = changes(with_leaf(judged(program(), tmp_path), LeafKind.LOCK, StepPhase.OTHER, share, STEPS))
    assert ("lock" in found) is is_said


def test_compilations_of_a_run_without_steps(here: Path) -> None:
    """Half of the run compiled again what was compiled before."""
    made = Program(**{**META, **OF_HERE})
    made.thread(1)
    made.run(op("aten::mm", 0, MS, stack=made.stack(f"{here}/train.py:5 main")))
    made.meta |= {"stop": {"monotonic_ns": 1000 * MS, "cpu_ns": MS}}
    calls = [
        {"file": f"{here}/train.py", "line": 1, "function": "f", "time_ns": 100 * MS, "guard": f"n == {at}"}
        for at in range(6)
    ]
    made.meta |= {"compilations": {"calls": calls, "more": False}}
    (here / "train.py").write_text("@torch.compile\ndef f(n):\n    return n\n", encoding="utf-8")
    (change,) = judged(made, here)[Advice].changes
    assert (change.rule, change.snippet) == ("recompiled", "@torch.compile(dynamic=True)")
    assert change.share == pytest.approx(0.5)


def test_short_steps_are_compiled_or_have_larger_batches(tmp_path: Path) -> None:
    found = changes(judged(short(200, 4), tmp_path))
    assert found["compile"].tries == ("compile",)
    assert ("tolist" in found, "larger-batches" in found) == (False, False)  # no batch, no reads


def test_what_is_compiled_already_is_not_compiled(tmp_path: Path) -> None:
    function = CompiledFunction(Line("/p/net.py", 7, "forward"), 1, None, None, "")
    found = advised(short(200, 4), tmp_path, Compilations((function,), is_cut=False))
    assert "compile" not in found


def test_long_operators_are_not_compiled(tmp_path: Path) -> None:
    found = advised(program(), tmp_path)
    assert "compile" not in found


@pytest.mark.parametrize(("reads", "others", "is_said"), [(100, 300, True), (40, 60, False), (0, 300, False)])
def test_values_read_one_by_one(here: Path, reads: int, others: int, is_said: bool) -> None:
    made, at = Program(**{**META, **OF_HERE}), 0
    made.thread(1)
    (here / "train.py").write_text("for v in y:\n    n[v.item()] += 1\n", encoding="utf-8")
    stack = made.stack(f"{here}/train.py:2 main")
    for number in range(12):
        for name, count in ((READ, reads), ("aten::select", others)):
            for _ in range(count):
                made.run(op(name, at, at + 3000, stack=stack, signature=made.signature("f32[4]")))
                at += 3000
        made.run(op("MmBackward0", at, at + 1000, stack=stack, node_sequence=number, node_thread=1))
        made.run(op("Optimizer.step#SGD.step", at + 1000, at + 4000, stack=stack, scope=7))
        at += 4000
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    found = advised(made, here)
    assert ("tolist" in found) is is_said
    if is_said:
        assert "compile" not in found
        assert "in y.tolist():" in found["tolist"].snippet
