"""Steps of many short operators with a cause of their own: made by hand, that have it, nearly, and do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.tables.diagnoses import Cause, Diagnoses, Short
from tests.build import Program, op
from tests.report.test_screen import found
from tests.report.test_text import META

US = 1000
SGD = "/env/site-packages/torch/optim/sgd.py:90/80 SGD.step"
STEPS = 12


def short(folder: Path, names: dict[str, int], updates: int, *, update_us: int = 3) -> Short:
    """A step calls so many of these operators, and so many in its optimizer; each takes 3 us."""
    made, at = Program(**META), 0
    made.thread(1)
    stack, update = made.stack("/p/train.py:30 main"), made.stack("/p/train.py:32 main", SGD)
    signature = made.signature("f32[4]")
    for number in range(STEPS):
        for name, count in names.items():
            for _ in range(count):
                made.run(op(name, at, at + 3 * US, stack=stack, signature=signature))
                at += 3 * US
        made.run(op("MmBackward0", at, at + US, stack=update, node_sequence=number, node_thread=1))
        end = at + US + updates * update_us * US + US
        calls = [
            op("aten::add_", start, start + update_us * US, stack=update, signature=signature)
            for start in range(at + US, end - US, update_us * US)
        ]
        made.run(op("Optimizer.step#SGD.step", at + US, end, *calls, stack=update, scope=7))
        at = end
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    (each,) = found(made, folder)[Diagnoses].of(Cause.SHORT_OPERATORS)
    assert each.short is not None
    return each.short


READ = "aten::_local_scalar_dense"


@pytest.mark.parametrize(
    ("reads", "others", "is_said"), [(100, 300, True), (60, 700, False), (40, 60, False), (0, 300, False)]
)
def test_values_that_are_read_one_by_one(tmp_path: Path, reads: int, others: int, is_said: bool) -> None:
    found = short(tmp_path, {READ: reads, "aten::select": others}, 5)
    assert (found.reads is not None) is is_said
    if found.reads is not None:
        steps = found.calls // (reads + others + 5)
        assert found.reads == reads * steps
        assert steps in (STEPS, STEPS - 1)


@pytest.mark.parametrize(
    ("updates", "update_us", "is_said"), [(200, 3, True), (60, 3, False), (4, 150, False)]
)
def test_parameters_that_are_updated_one_by_one(
    tmp_path: Path, updates: int, update_us: int, is_said: bool
) -> None:
    """Beside 300 operators of 3 us: two fifths of the step, a sixth, or two fifths in few operators."""
    found = short(tmp_path, {"aten::select": 300}, updates, update_us=update_us)
    share = updates * update_us / (900 + updates * update_us)
    expected = pytest.approx(share, abs=0.02) if is_said else None
    assert found.of_updates == expected


@pytest.mark.parametrize(("long_steps", "part"), [(6, 1.0), (1, 300 / (300 + 6000 / 12))])
def test_what_few_steps_do_is_not_theirs(tmp_path: Path, long_steps: int, part: float) -> None:
    """300 us of short operators in each step. Some steps have 6 ms more of them: half, or a twelfth."""
    made, at = Program(**META), 0
    made.thread(1)
    stack, signature = made.stack("/p/train.py:30 main"), made.signature("f32[4]")
    for number in range(STEPS):
        for _ in range(100 + 2000 * (number % (STEPS // long_steps) == 1)):
            made.run(op("aten::select", at, at + 3 * US, stack=stack, signature=signature))
            at += 3 * US
        made.run(op("MmBackward0", at, at + 100, stack=stack, node_sequence=number, node_thread=1))
        made.run(op("Optimizer.step#SGD.step", at + 100, at + 200, stack=stack, scope=7))
        at += 200
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    judged = found(made, tmp_path)[Diagnoses]
    (each,) = judged.of(Cause.SHORT_OPERATORS)
    assert each.share == pytest.approx(part, abs=0.05)
    usual = 100 if long_steps == 1 else 1100
    assert each.short is not None
    assert each.short.calls / judged.steps == pytest.approx(usual, rel=0.1)


def test_logging_is_not_theirs(tmp_path: Path) -> None:
    """A line of 100 operators takes 300 us, and a line that logs without operators 200."""
    made, at = Program(**META), 0
    made.thread(1)
    stack, signature = made.stack("/p/train.py:30 main"), made.signature("f32[4]")
    log = ("/p/train.py:40 main", "/env/site-packages/tqdm/std.py:1400 tqdm.refresh")
    for number in range(STEPS):
        for _ in range(100):
            made.run(op("aten::select", at, at + 3 * US, stack=stack, signature=signature))
            at += 3 * US
        made.sample(at, at + 200 * US, *log, cpu_ns=200 * US)
        at += 200 * US
        made.run(op("MmBackward0", at, at + 100, stack=stack, node_sequence=number, node_thread=1))
        made.run(op("Optimizer.step#SGD.step", at + 100, at + 200, stack=stack, scope=7))
        at += 200
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    findings = found(made, tmp_path)
    (each,) = findings[Diagnoses].of(Cause.SHORT_OPERATORS)
    place = findings.trace.line(each.frame)
    assert place is not None
    assert place.line == 30
    assert each.share == pytest.approx(3 / 5, abs=0.01)


@pytest.mark.parametrize(("products", "is_said"), [(200, True), (400, False)])
def test_on_a_fast_core_the_same_work_takes_less(tmp_path: Path, products: int, is_said: bool) -> None:
    """An operator begins every microsecond. A product takes 0.97 of that on a slow core, half on this one."""
    made, at = Program(**META), 0
    made.thread(1)
    stack = made.stack("/p/train.py:30 main")
    kinds = {"aten::mm": made.signature("f32[4,32] f32[32,16]"), "aten::add": made.signature("f32[4]")}
    for _ in range(STEPS):
        for name, count in (("aten::mm", products), ("aten::add", 400 - products)):
            for _ in range(count):
                made.run(op(name, at, at + US, stack=stack, signature=kinds[name]))
                at += US
        made.run(op("Optimizer.step#SGD.step", at, at + US, stack=stack, scope=7))
        at += US
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    assert bool(found(made, tmp_path)[Diagnoses].of(Cause.SHORT_OPERATORS)) is is_said
