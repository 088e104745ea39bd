"""What steps took without waiting: by what the thread read in them, else by the scheduler, else unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.loop.own_times import own_times_ns
from perfprobe.merge import link
from perfprobe.tables.steps import Loops, StepPhases, Steps, StepTimes
from tests.build import Program
from tests.found import find

MS = 1_000_000
OWN_MS, WAITED_MS = np.array([10, 10, 30]), np.array([0, 50, 5])


@pytest.mark.parametrize("is_read", [True, False])
def test_waiting_is_what_the_thread_read(tmp_path: Path, is_read: bool) -> None:
    """The scheduler has the sum only: that would be the same part of each step."""
    end_ns = np.cumsum(OWN_MS + WAITED_MS) * MS
    program = Program()
    program.thread(0, "main")
    for moment_ns, sum_ns in ((0, 0), (int(end_ns[-1]), 55 * MS)):
        program.row("thread_times", moment_ns, 0, 0, sum_ns, 0, 0, 0)
    trace = link(program.recording(tmp_path))
    none = {name: np.zeros(3, dtype) for name, dtype in Steps.dtypes.items()}
    steps = Steps(**none | {"start_ns": np.append(0, end_ns[:-1]), "end_ns": end_ns})
    none = {name: np.full(3, -1, dtype) for name, dtype in StepPhases.dtypes.items()}
    read_ns = WAITED_MS * MS if is_read else np.full(3, -1)
    phases = StepPhases(**none | {"step": np.arange(3, dtype=np.int32), "waited_ns": read_ns})
    loops = Loops(**{name: np.zeros(1, dtype) for name, dtype in Loops.dtypes.items()})
    times = replace(find(trace, StepTimes)[StepTimes], loops=loops, steps=steps, step_phases=phases)
    found_ns = own_times_ns(trace, times)
    assert found_ns is not None
    expected_ms = OWN_MS if is_read else (OWN_MS + WAITED_MS) * 50 / 105
    assert found_ns.tolist() == pytest.approx((expected_ms * MS).tolist())
