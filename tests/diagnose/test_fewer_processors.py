"""A program whose affinity is changed while it runs, and one whose is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfprobe
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.judgements import FewerProcessors

ALLOWED = len(os.sched_getaffinity(0))


@pytest.mark.skipif(ALLOWED < 2, reason="only one processor may be used here")
@pytest.mark.parametrize("changes", [True, False])
def test_fewer_processors_at_the_end_are_said(tmp_path: Path, changes: bool) -> None:
    change = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})" if changes else ""
    subprocess.run(
        [sys.executable, "-m", "perfprobe", "-q", "-o", "r.perfprobe", "-c", f"import os; {change}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(perfprobe.__file__).parents[1])},
        check=True,
    )
    results = Results(str(tmp_path / "r.perfprobe"))
    found = results.findings(View(), ()).get(FewerProcessors)
    assert found == (FewerProcessors(ALLOWED, 1) if changes else None)
    assert (f"{ALLOWED} to 1 cores" in results.text(View())) is changes
