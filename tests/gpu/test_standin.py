"""The checks that need no GPU pass with the stand-in for libcupti, as `--list` says.

Only those of `QUICK`, which no other test runs. With PERFPROBE_WHOLE_CHECK all run, in a minute or two.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import eager
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
    installed["PYTHONPATH"] += os.pathsep + eager.VARIABLES["PYTHONPATH"]
    is_whole = os.environ.get("PERFPROBE_WHOLE_CHECK")
    own = [each for each in CHECKS if each.with_standin and (is_whole or each.name in QUICK)]

    # They mostly sleep, and the stand-in has a separate device for each process. A wait is judged by the time
    # around it, which busy neighbours stretch, so what fails is tried again.
    wanted = own
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with ThreadPoolExecutor(4) as pool:
            runs = [
                pool.submit(check.run_one, each, report, folder, check.end_in(300), installed)
                for each in wanted
            ]
        for run in runs:
            run.result()
        passed = {result.name for result in report.results if result.status == PASS}
        wanted = [each for each in own if each.name not in passed]
        if not wanted:
            break
    report.close()
    print((tmp_path / "out" / "output.txt").read_text())
    assert wanted == []
