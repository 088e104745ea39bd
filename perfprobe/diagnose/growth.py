"""Rule: memory grows from step to step."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import MemoryGrowth
from perfprobe.tables.memory import MemoryLines, MemoryUse

_LEAST_BYTES = 1024  # a step; what grows less is not named
_NOTEWORTHY = 0.001  # of the peak for each step: a thousand steps double it


def memory_growth(findings: Findings) -> MemoryGrowth | None:
    """The lines that grow, and whether the whole does."""
    use, gpus = findings.get(MemoryUse), findings.get(DeviceMemory)
    if use is None and gpus is None:
        return None
    lines, is_noteworthy, devices = MemoryLines.empty(), False, frozenset[int]()
    if use is not None:
        lines = use.lines.take(use.lines.growth_bytes >= _LEAST_BYTES)
        lines = lines.take(np.argsort(-lines.growth_bytes, kind="stable"))
        is_noteworthy = len(lines) > 0 and (use.growth_bytes or 0) >= _NOTEWORTHY * use.peak_bytes
    if gpus is not None:
        devices = frozenset(gpus.device[_grows(gpus.growth_bytes, gpus.peak_bytes)].tolist())
    return MemoryGrowth(lines, is_noteworthy, devices)


def _grows(growth_bytes: Int64, peak_bytes: Int64) -> Mask:
    return np.asarray(growth_bytes >= np.maximum(_NOTEWORTHY * peak_bytes, _LEAST_BYTES))
