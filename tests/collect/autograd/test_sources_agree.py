"""Observer and autograd profiler record the same programs, together and separately."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from perfprobe.collect.autograd import windows
from perfprobe.merge import link
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from tests.collect.autograd.workloads import WORKLOADS
from tests.collect.recorded import Row, one_thread, record, rows


@pytest.mark.parametrize("name", WORKLOADS)
def test_all_differences_are_explained(name: str, tmp_path: Path) -> None:
    one_thread()
    WORKLOADS[name]()
    record(tmp_path / "both.perfprobe", WORKLOADS[name], operators="both", memory=True)
    found = link(storage.read(tmp_path / "both.perfprobe")).sources
    assert found is not None
    differences = [
        (kind, observer, autograd, count)
        for kind, observer, autograd, reason, count in zip(
            *(getattr(found.differences, c) for c in ("kind", "observer", "autograd", "reason", "count")),
            strict=True,
        )
        if not reason
    ]
    assert differences == []
    assert found.both > 5
    others = {kind for kind, reason in zip(found.differences.kind, found.differences.reason, strict=True)}
    assert others <= ({"signature", "only the observer"} if name == "threads" else {"signature"})


def counted(found: list[Row]) -> Counter[tuple[str, str, str, str, int]]:
    return Counter((row.name, row.overload, row.signature, row.phase, row.scope) for row in found)


@pytest.mark.parametrize("name", sorted(set(WORKLOADS) - {"threads", "indexing"}))
def test_the_profiler_alone_records_the_same_rows(name: str, tmp_path: Path) -> None:
    one_thread()
    WORKLOADS[name]()
    ours = record(tmp_path / "observer.perfprobe", WORKLOADS[name])
    theirs = record(tmp_path / "autograd.perfprobe", WORKLOADS[name], operators="autograd")
    assert [(r.name, r.depth) for r in theirs] == [(r.name, r.depth) for r in ours]
    for our, their in zip(ours, theirs, strict=True):
        # The profiler does not know which parameter AccumulateGrad adds to.
        module = "" if not our.line and our.phase == "backward" else our.module
        assert (their.phase, their.module, their.scope) == (our.phase, module, our.scope), our
        assert without_device(their.signature) == without_device(our.signature)
        for claimed, known in ((their.line, our.line), (their.forward_line, our.forward_line)):
            if not claimed.endswith("(its first line)"):
                assert claimed == known, our


def test_functions_that_returned_late_in_a_window_do_not_hold_later_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several short windows, fewer on a busy machine; operators run after a window's last call of Python."""
    monkeypatch.setattr(windows, "TARGET_EVENTS", 1)
    monkeypatch.setattr(windows, "SHORTEST_NS", 100_000)
    monkeypatch.setattr(windows, "FIRST_NS", 100_000)

    def ones() -> torch.Tensor:
        return torch.ones(2)

    def run() -> None:
        for _ in range(200):
            x = ones()
            for _ in range(40):
                x = torch.neg(x)

    one_thread()
    found = record(tmp_path / "run.perfprobe", run, operators="autograd")
    lines = {row.line.partition(" ")[2] for row in found if row.name == "aten::neg"}
    assert (storage.read(tmp_path / "run.perfprobe").number("autograd", "windows") or 0) > 2
    assert lines == {"in run"}


def without_device(signature: str) -> list[str]:
    """The parts of a signature that the profiler records too."""
    return [word for word in signature.split() if not word.startswith(("device=", "approximate="))]


def test_lines_of_operator_syntax(tmp_path: Path) -> None:
    one_thread()
    WORKLOADS["checkpointed"]()
    found = record(tmp_path / "run.perfprobe", WORKLOADS["checkpointed"], operators="autograd")
    lines = {row.name: row.line for row in found if row.depth == 0 and row.phase == "forward"}
    assert "its first line" not in "".join(lines[f"aten::{name}"] for name in ("matmul", "div", "neg", "mul"))


def test_report_and_json_show_the_differences(tmp_path: Path) -> None:
    path = tmp_path / "both.perfprobe"
    record(path, WORKLOADS["transformer"], operators="both")
    text = Results(str(path)).text(View(full=True), width=200)
    assert "operators seen by both; disagreements: none" in text
    assert re.search(r"Autograd profiler: \d+ windows?, read in ", text)
    tables = json.loads(json.dumps(Results(str(path)).document(View())))["tables"]
    (sources,) = tables["sources"]
    assert sources["unexplained"] == 0
    assert sources["both"] == sources["observer"] == len(rows(path))
    assert {row["kind"] for row in tables["differences"]} <= {"signature"}
