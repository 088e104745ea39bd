"""Rule: how small a gain can be seen in these steps, given their spread."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Noise
from perfprobe.tables.steps import Steps, StepTimes

_FEW = 5  # with fewer steps their spread has no meaning
_LEAST = 0.01


def noise(findings: Findings) -> Noise | None:
    """The smallest detectable change of the median step.

    It is 2.8 standard errors: the difference of two such medians, at 95 %. The standard error of a median of
    n values is 1.253 sigma / sqrt(n), where sigma is 1.4826 times the median absolute deviation.
    """
    found = findings.get(StepTimes)
    if found is None or len(found.loops) == 0:
        return None
    steps: Steps = found.steps.take(found.leading())
    if len(steps) < _FEW:
        return None
    duration_ns = (steps.end_ns - steps.start_ns).astype(np.float64)
    middle = float(np.median(duration_ns))
    spread = 1.4826 * float(np.median(np.abs(duration_ns - middle)))
    return Noise(float(max(2.8 * 1.253 * spread / max(middle, 1) / len(steps) ** 0.5, _LEAST)))
