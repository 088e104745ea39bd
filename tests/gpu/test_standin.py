"""The checks that need no GPU pass with the stand-in for libcupti, as `--list` says.

Only those of `QUICK`, which no other test runs. With PERFPROBE_WHOLE_CHECK all run, in a minute or two.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.collect.standin import environment
from tests.gpu import check
from tests.gpu.listed import CHECKS
from tests.gpu.result import PASS, Report

pytest.importorskip("torch")
QUICK = {"three_sessions", "beyond_valid", "pageable_wait", "crowd"}


@pytest.mark.slow
def test_checks_that_need_no_gpu_pass_without_one(
    tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(standin).items():
        monkeypatch.setenv(name, value)
    report, installed = Report(tmp_path / "out"), check.environment(None, tmp_path / "path")
    is_whole = os.environ.get("PERFPROBE_WHOLE_CHECK")
    own = [each for each in CHECKS if each.with_standin and (is_whole or each.name in QUICK)]

    # They mostly sleep, and the stand-in has a separate device for each process.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: check.run_one(each, report, tmp_path, check.end_in(300), installed), own))
    report.close()
    print((tmp_path / "out" / "output.txt").read_text())
    assert {result.name: (result.status, result.reason) for result in report.results} == {
        each.name: (PASS, "") for each in own
    }
