"""Steps of runs with more segments than are kept: the shortest are merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.analyse.loop import timeline
from perfprobe.merge import link
from perfprobe.tables.steps import StepPhase, StepTimes
from tests.analyse.test_gpu import steps
from tests.build import Program, op

STEPS, CALLS, MS = 100, 60, 1_000_000


def program() -> Program:
    """Steps of 100 ms: 60 calls of a module of 1 ms, 20 ms of backward, 10 of the optimizer."""
    made = Program()
    made.thread(1)
    net = made.module("", "Net")
    forward = made.stack("/p/train.py:22 main", ("/p/model.py:88 attention", net))
    engine = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
    backward = made.stack("/p/train.py:23 main", engine)
    step = made.stack("/p/train.py:24 main")
    inputs = made.signature("f32[64,128] f32[64,128]{1,64}")
    for number in range(STEPS):
        at = (number + 1) * 100 * MS
        node = {"node_sequence": number, "node_thread": 1}
        calls = (
            op("aten::bmm", begin, begin + MS, stack=forward, signature=inputs, sequence=number)
            for begin in range(at, at + CALLS * MS, MS)
        )
        made.run(
            *calls,
            op("aten::mm", at + 60 * MS, at + 80 * MS, stack=backward, signature=inputs, **node),
            op("Optimizer.step#SGD.step", at + 80 * MS, at + 90 * MS, stack=step, scope=7),
        )
    return made


def shares(found: StepTimes) -> dict[StepPhase, float]:
    whole_ns = int(found.loops.total_ns[0])
    rows = zip(found.phases.phase.tolist(), found.phases.time_ns.tolist(), strict=True)
    return {StepPhase(phase): time_ns / whole_ns for phase, time_ns in rows}


def test_merged_segments_keep_steps_and_nearly_keep_phases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = link(program().recording(tmp_path))
    whole = steps(trace)
    assert (whole.loops.steps.tolist(), whole.loops.median_ns.tolist()) == ([STEPS], [100 * MS])
    assert shares(whole)[StepPhase.FORWARD] == pytest.approx(0.6, abs=0.01)
    monkeypatch.setattr(timeline, "MOST_SEGMENTS", 1_400)
    joined = steps(trace)
    assert (joined.loops.steps.tolist(), joined.loops.median_ns.tolist()) == ([STEPS], [100 * MS])
    for phase, share in shares(whole).items():
        assert shares(joined).get(phase, 0) == pytest.approx(share, abs=0.1), phase
