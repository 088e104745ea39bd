"""Clipping of gradients is a phase of its own: steps made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.tables.steps import StepPhase, StepTimes
from tests.build import Program, op
from tests.found import find
from tests.report.test_text import META

MS = 1_000_000
CLIP = "/env/site-packages/torch/nn/utils/clip_grad.py:{} clip_grad_norm_"
SGD = "/env/site-packages/torch/optim/sgd.py:90 SGD.step"


def test_clipping_is_no_part_of_the_optimizer(tmp_path: Path) -> None:
    """A step multiplies for 4 ms, goes backward for 4, clips for 3, and updates for 2."""
    made, at = Program(**META), 0
    made.thread(1)
    line = "/p/train.py:30 main"
    plain, clips, updates = made.stack(line), made.stack(line, CLIP.format(50)), made.stack(line, SGD)
    for number in range(12):
        made.run(op("aten::mm", at, at + 4 * MS, stack=plain, sequence=number))
        made.run(op("MmBackward0", at + 4 * MS, at + 8 * MS, node_sequence=number, node_thread=1))
        made.run(op("aten::_foreach_norm", at + 8 * MS, at + 11 * MS, stack=clips))
        update = op("aten::add_", at + 11 * MS, at + 13 * MS, stack=updates)
        made.run(op("Optimizer.step#SGD.step", at + 11 * MS, at + 13 * MS, update, stack=plain, scope=7))
        at += 13 * MS
    made.meta |= {"stop": {"monotonic_ns": at, "cpu_ns": at}}
    times = find(link(made.recording(tmp_path)), StepTimes)[StepTimes]
    shares = dict(zip(times.phases.phase.tolist(), times.phases.time_ns.tolist(), strict=True))
    whole_ns = int(times.loops.total_ns[0])
    assert shares[StepPhase.CLIPPING] / whole_ns == pytest.approx(3 / 13, abs=0.01)
    assert shares[StepPhase.OPTIMIZER] / whole_ns == pytest.approx(2 / 13, abs=0.01)
