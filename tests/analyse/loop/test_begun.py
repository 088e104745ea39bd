"""When evaluations begin, by hand-made samples between the optimizer and the evaluation's first batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.steps import StepKind, StepTimes
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000
STEPS = 6
ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
LOGS, CALLS = "/p/train.py:40 main", "/p/train.py:42 main"


def lengths_ms(folder: Path, *, samples: bool = True) -> tuple[set[float], set[float]]:
    """Steps of 40 ms, 10 ms of logging, then an evaluation: 30 ms until its first batch, 20 ms behind."""
    program, at = Program(**META), 0
    program.thread(1)
    net = program.module("", "Net")
    asks, update = program.stack("/p/train.py:20 main"), program.stack("/p/train.py:25 main")
    model = program.stack("/p/train.py:22 main", ("/p/net.py:9 forward", net))
    backward = program.stack("/p/train.py:24 main", ENGINE)
    held = program.stack(CALLS, "/p/eval.py:7 evaluate")
    tried = program.stack(CALLS, "/p/eval.py:8 evaluate", ("/p/net.py:9 forward", net))
    for number in range(STEPS):
        program.run(
            op("enumerate(DataLoader)#_Next", at, at + 5 * MS, stack=asks, scope=7),
            op("aten::mm", at + 5 * MS, at + 20 * MS, stack=model, sequence=number),
            op(
                "MmBackward0", at + 20 * MS, at + 35 * MS, stack=backward, node_sequence=number, node_thread=1
            ),
            op("Optimizer.step#SGD.step", at + 35 * MS, at + 40 * MS, stack=update, scope=7),
            op("enumerate(DataLoader)#_Next", at + 80 * MS, at + 85 * MS, stack=held, scope=7),
            op("aten::mm", at + 85 * MS, at + 100 * MS, stack=tried),
        )
        for begin, *frames in ((40, LOGS), (50, CALLS, "/p/eval.py:6 evaluate")):
            end = 50 if begin == 40 else 80
            for look in range(at + begin * MS, at + end * MS, 2 * MS) if samples else ():
                program.sample(look, look + 2 * MS - 1, *frames, cpu_ns=MS)
        at += 100 * MS
    program.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    steps = find(link(program.recording(folder)), StepTimes)[StepTimes].steps
    each_ms = (steps.end_ns - steps.start_ns) / MS
    evaluates = steps.kind == StepKind.EVALUATION
    return set(each_ms[~evaluates].round(0).tolist()), set(each_ms[evaluates].round(0).tolist())


@pytest.mark.parametrize(("samples", "expected"), [(True, ({50.0}, {50.0})), (False, ({80.0}, {20.0}))])
def test_an_evaluation_begins_with_its_call(
    tmp_path: Path, samples: bool, expected: tuple[set[float], set[float]]
) -> None:
    assert lengths_ms(tmp_path, samples=samples) == expected
