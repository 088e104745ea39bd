"""How many steps a mode was on for, and how much longer these took: steps made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.analyse.modes import _mode
from perfprobe.diagnose.modes import slow_modes
from perfprobe.merge import link
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import SlowModes
from perfprobe.tables.modes import Modes
from perfprobe.tables.steps import Steps
from tests.build import Program

MS = 1_000_000


@pytest.mark.parametrize(("with_it_ms", "without", "slower"), [(30, 10, 3.0), (10, 10, 1.0), (30, 5, None)])
def test_steps_with_a_mode_are_compared_with_the_others(
    tmp_path: Path, with_it_ms: int, without: int, slower: float | None
) -> None:
    own_ms = np.array([10] * without + [with_it_ms] * 12)
    lengths_ms = own_ms + np.arange(len(own_ms)) * 7  # they wait longer and longer for a processor
    end_ns = np.cumsum(lengths_ms) * MS + MS
    none = {name: np.zeros(len(end_ns), dtype) for name, dtype in Steps.dtypes.items()}
    steps = Steps(**none | {"start_ns": end_ns - lengths_ms * MS, "end_ns": end_ns})
    row: dict[str, Any] = {"mode": "torch.profiler", "from_ns": int(end_ns[without - 1])}
    found = _mode([row], steps, own_ms * float(MS), int(end_ns[-1]))
    assert (found.steps, found.whole, found.slower) == (12, without + 12, slower)
    judged = slow_modes(Findings(link(Program().recording(tmp_path)), Modes((found,))))
    assert judged == SlowModes((found,) if slower != 1.0 else ())
