"""Idle time, overlap and launches of GPUs in reports, JSON and the first screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.build import Program, op
from tests.collect.runs import perfprobe
from tests.collect.standin import OPERATORS, environment
from tests.report.test_ranges import section
from tests.snapshots import Snapshot

MS = 1_000_000


def program() -> Program:
    """Five kernels of 10 ms, each followed by 30 ms in a loader, and one of NCCL."""
    made = Program(
        start={"monotonic_ns": 0, "cpu_ns": 0}, stop={"monotonic_ns": 200 * MS, "cpu_ns": 200 * MS}
    )
    made.thread(1)
    line, data = made.stack("/p/train.py:9 main"), made.stack("/p/train.py:3 main")
    for at in range(5):
        begin = at * 40 * MS
        made.run(op("aten::mm", begin, begin + MS, stack=line))
        made.run(
            op("enumerate(DataLoader)#_Single.__next__", begin + MS, begin + 39 * MS, scope=7, stack=data)
        )
        made.api_call("cudaLaunchKernel", begin, begin + MS // 2, at)
        made.kernel("gemm", begin + MS // 2, begin + 10 * MS, at)
    made.api_call("cudaLaunchKernel", 50 * MS, 51 * MS, 5)
    made.kernel("ncclDevKernel_AllReduce_Sum", 45 * MS, 55 * MS, 5, stream=20)
    return made


def report(folder: Path, **options: Any) -> str:
    return Results(program().recording(folder).path).text(View(**options))


def test_idle_time_by_cause_and_line(tmp_path: Path, snapshot: Snapshot) -> None:
    text = report(tmp_path, view="idle")
    first = section(text + "\n", "GPU idle")[2]
    assert "data loading" in first
    assert "train.py:3 in main" in first
    snapshot(text)


def test_overlap_of_each_kind_of_work(tmp_path: Path) -> None:
    _, _, computing, communicating = section(report(tmp_path, view="overlap") + "\n", "GPU overlap")
    assert computing.split() == ["0", "computing", "47.5", "ms", "89.5", "%", "10.5", "%"]
    assert communicating.split() == ["0", "communicating", "10.0", "ms", "50.0", "%", "50.0", "%"]


def test_launches_and_queue(tmp_path: Path, snapshot: Snapshot) -> None:
    snapshot(report(tmp_path, view="launches"))


def test_the_first_screen_blames_a_line(tmp_path: Path) -> None:
    text = report(tmp_path)
    assert "loading, 111 ms = 65 %" in text
    assert "mm, 47.5 ms = 28 %" in text


def test_a_focus_chooses_rows(tmp_path: Path) -> None:
    results = Results(program().recording(tmp_path).path)
    for view, found in (("idle", "1 row by time, focus 'train.py:3' of 3"), ("launches", None)):
        text = results.text(View(view=view, focus="train.py:3"))
        assert (found in text) if found else ("Launches" not in text)
    tables = results.document(View(focus="train.py:3"))["tables"]
    assert {row["line"] for row in tables["gpu_idle"]} == {3}
    assert {row["line"] for row in tables["critical_path"]} == {3}
    assert tables["launched"] == tables["kernel_sequences"] == []


def test_without_a_gpu_there_is_no_section(tmp_path: Path) -> None:
    made = Program()
    made.thread(1)
    made.run(op("aten::mm", 0, MS))
    results = Results(made.recording(tmp_path).path)
    for view in ("idle", "overlap", "launches"):
        assert results.text(View(view=view)).startswith(f"Not recorded: {view}.")


SLEEPING = """
import time

def collate():
    time.sleep(0.05)

for _ in range(6):
    x = work(torch.ones(8), "k", 1_000_000)
    collate()
"""


def test_a_program_that_sleeps_between_launches(tmp_path: Path, standin: Path) -> None:
    """Only the sampler knows the line in the function."""
    pytest.importorskip("torch")
    (tmp_path / "main.py").write_text(OPERATORS + SLEEPING)
    words = ["--gpu", "cupti", "-o", "run.perfprobe", "--json", "run.json", "--top", "0", "main.py"]
    outcome = perfprobe(words, tmp_path, {**environment(standin), "COLUMNS": "240"})
    assert outcome.status == 0, outcome
    tables = json.loads((tmp_path / "run.json").read_text())["tables"]
    first = tables["gpu_idle"][0]
    assert (first["cause"], first["function"]) == ("python", "collate")
    assert first["line"] == (OPERATORS + SLEEPING).partition("time.sleep(")[0].count("\n") + 1
    assert first["total_ns"] > 0.7 * 5 * 49_000_000
    assert first["host_wait_ns"] == first["total_ns"]
    (stream,) = tables["stream_launches"]
    assert stream["launches"] == 6
