"""Steps of inference where each call of the model was recorded, however many operators it has."""

from __future__ import annotations

from pathlib import Path

from perfprobe.analyse.loop.call_starts import CallStarts
from perfprobe.merge import link
from tests.analyse.test_gpu import steps
from tests.build import Program, op

CALLS, OPERATORS, US = 30, 200, 1_000


def program(*, with_calls: bool) -> Program:
    """Calls of one module from one line: 200 equal operators each, as in TorchScript, 3 us apart."""
    made = Program()
    made.thread(1)
    stack = made.stack(
        "/p/main.py:6 main", ("/env/torch/nn/modules/module.py:9 _wrapped_call_impl", made.module("", "Net"))
    )
    for call in range(CALLS):
        at = (call + 1) * 1_000 * US
        times = range(at, at + OPERATORS * 4 * US, 4 * US)
        made.run(*(op("aten::relu", begin, begin + US, stack=stack) for begin in times))
        if with_calls:
            made.row("module_calls", at - 100, 0, 0, stack)
    return made


def test_each_recorded_call_is_a_step(tmp_path: Path) -> None:
    trace = link(program(with_calls=True).recording(tmp_path))
    assert steps(trace).loops.steps.tolist() == [CALLS]


def test_without_recorded_calls_an_operator_that_comes_again_begins_one(tmp_path: Path) -> None:
    trace = link(program(with_calls=False).recording(tmp_path))
    assert not CallStarts(trace.recording).are_known(1)
    assert steps(trace).loops.steps.tolist() == [CALLS * OPERATORS]
