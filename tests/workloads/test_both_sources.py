"""Observer and autograd profiler record the same calls, inputs and nesting in every workload."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.attribution import WORKLOADS
from perfprobe.merge.sources import BETWEEN
from tests.collect.runs import BUSY_SOURCES, perfprobe
from tests.workloads.recorded import Recorded, words_of

pytestmark = pytest.mark.slow
# The operators of the other two are among those of tests/collect/autograd/test_sources_agree.py.
NAMES = ("transformer", "resnet", "small_operators")


@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_in_both_sources(
    name: str, tmp_path: Path, recorded: Callable[[str], Recorded]
) -> None:
    recorded(name)  # first: processes that run it at the same time would each compile its own operator
    words = ["-q", "--operators", "both", "--json", "report.json", str(WORKLOADS / f"{name}.py")]
    outcome = perfprobe([*words, *words_of(name)], tmp_path)
    assert outcome.status == 0, outcome.err.decode()
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (sources,) = report["tables"]["sources"]
    assert sources["both"] == sources["autograd"] > 0
    differences = report["tables"]["differences"]
    assert [row for row in differences if row["reason"] is None] == []
    # On a busy machine a window may be left early, which is reported. Nothing else may be missing.
    outside = sum(row["calls"] for row in differences if row["reason"] == BETWEEN)
    assert sources["observer"] == sources["both"] + outside
    # A workload's own operator is compiled, by child processes, in the first run on a machine.
    lost = {loss["source"] for loss in report["missing"]} - BUSY_SOURCES - {"processes"}
    assert lost <= {"autograd"}
    assert ("autograd" in lost) == bool(outside)
