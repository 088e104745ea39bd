"""How long a GPU was busy in each phase of a step."""

from __future__ import annotations

from pathlib import Path

from perfprobe.merge import link
from perfprobe.tables.steps import StepPhase
from tests.analyse.test_gpu import steps, two_steps
from tests.build import Program, op


def test_phases_say_how_long_the_gpu_was_busy(tmp_path: Path) -> None:
    """Simultaneous kernels and copies count once. Work that reaches into the next step counts in both."""
    program = Program()
    program.thread(1)
    program.run(*two_steps(1000))
    assert set(steps(link(program.recording(tmp_path))).step_phases.gpu_ns.tolist()) == {-1}
    program.kernel("k", 1_500_000, 1_650_000, 1)
    program.copy(1, 1_640_000, 1_700_000, 2)
    program.kernel("k", 1_790_000, 1_990_000, 3, stream=9)
    program.thread(2)
    program.run(
        *(op("MmBackward", at + 100_000, at + 400_000, scope=1) for at in (1_000_000, 2_000_000)), thread=1
    )
    found = steps(link(program.recording(tmp_path)))
    busy_ns: dict[int, dict[StepPhase, int]] = {0: {}, 1: {}}
    rows = found.step_phases
    for step, phase, gpu_ns in zip(
        rows.step.tolist(), rows.phase.tolist(), rows.gpu_ns.tolist(), strict=True
    ):
        busy_ns[step][StepPhase(phase)] = gpu_ns
    assert busy_ns[0][StepPhase.OPTIMIZER] == 110_000
    assert [sum(of.values()) for of in busy_ns.values()] == [210_000, 190_000]
    assert sum(found.phases.gpu_ns.tolist()) == 400_000
