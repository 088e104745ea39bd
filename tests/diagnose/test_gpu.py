"""What limits a program that uses a GPU, by shares of the time from its first to its last work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfprobe.diagnose.gpu import Use, limit
from perfprobe.tables.gpu_verdict import GpuLimit
from tests.report.gpu import OnGpu


@pytest.mark.parametrize(
    ("use", "span", "expected"),
    [
        (Use(0.9, 0.9, 0, 0), 50, GpuLimit.COMPUTING),
        (Use(0.9, 0.9, 0, 0), 49, GpuLimit.SELDOM_USED),
        (Use(0.9, 0.85, 0, 0.3), 100, GpuLimit.COMPUTING),
        (Use(0.9, 0.84, 0, 0.3), 100, GpuLimit.COPYING),
        (Use(0.9, 0.3, 0.6, 0.3), 100, GpuLimit.COMMUNICATION),
        (Use(0.89, 0.89, 0, 0), 100, GpuLimit.BOTH),
        (Use(0.5, 0.5, 0, 0), 100, GpuLimit.BOTH),
        (Use(0.49, 0, 0, 0.49), 100, GpuLimit.PROGRAM),
    ],
)
def test_the_limit(use: Use, span: int, expected: GpuLimit) -> None:
    gpu = OnGpu().gpu()
    assert limit(gpu, use, span, 100) is expected
    assert limit(replace(gpu, untimed=1), use, span, 100) is GpuLimit.UNTIMED
