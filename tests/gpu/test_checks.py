"""The checks of `make gpu-check` as tests. Without a driver each is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu import check, machine
from tests.gpu.listed import CHECKS, Check
from tests.gpu.result import FAIL, SKIP, Report


@pytest.mark.gpu
@pytest.mark.parametrize(
    "each", [each for each in CHECKS if not each.with_standin], ids=lambda each: each.name
)
def test_a_check_passes_on_a_gpu(each: Check, tmp_path: Path) -> None:
    missing = machine.driver_missing()
    if missing is not None:
        pytest.skip(missing)
    report = Report(tmp_path / "out")
    check.run_one(
        each, report, tmp_path, check.end_in(each.limit_s + 10), check.environment(None, tmp_path / "path")
    )
    result = report.results[0]
    if result.status == SKIP:
        pytest.skip(result.reason)
    assert result.status != FAIL, result.reason
