"""The report of a program with a GPU simulated by a stand-in for libcupti."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.collect.runs import perfprobe
from tests.collect.standin import OPERATORS, environment
from tests.report.test_ranges import section

pytest.importorskip("torch")

PROGRAM = """
import perfprobe

def step(x):
    x = work(x, "void at::native::k<int, at::native::Mul<float>>(int)", 3_000_000)
    x = send(x)
    wait()
    return x

for _ in range(4):
    with perfprobe.range("one step"):
        step(torch.ones(1024))
gpu.standin_launch_graph(b"node", 4, 1000, 7)
"""


def line(text: str) -> int:
    """The line number of the program line with this text."""
    return (OPERATORS + PROGRAM).partition(text)[0].count("\n") + 1


def reported(folder: Path, standin: Path, **settings: str) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """The printed report, and the tables of the JSON document."""
    (folder / "main.py").write_text(OPERATORS + PROGRAM)
    words = ["--gpu", "cupti", "-o", "run.perfprobe", "--json", "run.json", "--top", "0", "main.py"]
    outcome = perfprobe(words, folder, {**environment(standin, **settings), "COLUMNS": "240"})
    assert outcome.status == 0, outcome
    return outcome.err.decode(), json.loads((folder / "run.json").read_text())["tables"]


def test_kernels_copies_and_waits_have_their_lines(tmp_path: Path, standin: Path) -> None:
    text, tables = reported(tmp_path, standin)
    first, graph, *_ = tables["kernels"]
    assert (first["operator"], first["line"], first["kernels"]) == ("standin::work", line("x = work("), 4)
    assert (first["total_ns"], first["function"]) == (12_000_000, "step")
    assert (graph["name"], graph["is_graph"], graph["operator"], graph["kernels"]) == ("node", True, None, 4)
    (copy,) = tables["copies"]
    assert (copy["operator"], copy["line"], copy["copies"]) == ("standin::send", line("x = send("), 4)
    assert (copy["source"], copy["direction"], copy["size_bytes"]) == ("pageable", "to GPU", 4 * 4096)
    inside, wait = sorted(tables["gpu_waits"], key=lambda row: row["kind"])
    assert (inside["kind"], inside["call"], inside["waits"]) == ("pageable_copy", "cudaMemcpy", 4)
    assert inside["line"] == line("x = send(")
    assert (wait["kind"], wait["call"], wait["waits"]) == ("stream", "cudaStreamSynchronize", 4)
    (device,) = tables["devices"]
    assert (device["name"], device["kernels"], device["copies"]) == ("Stand-in", 8, 4)
    (row,) = (row for row in tables["hotspots"] if row["operator"] == "standin::work")
    assert row["gpu_self_ns"] == row["gpu_ns"] == 12_000_000
    (named,) = (row for row in tables["named_ranges"] if row["source"] == "perfprobe")
    assert (named["name"], named["ranges"]) == ("one step", 4)
    assert " was busy for " in text
    kernel = section(text, "GPU kernels")[2]
    assert "k<Mul>" in kernel
    assert f"main.py:{line('x = work(')} in step" in kernel
    assert "Stand-in" in section(text, "GPUs")[2]


def test_records_lost_by_cupti_are_printed(tmp_path: Path, standin: Path) -> None:
    text, tables = reported(tmp_path, standin, drop="7", untimed="1")
    losses = text[text.index("\nNot recorded") :]
    assert "records dropped: CUPTI" in losses
    assert "without a time" in losses
    assert tables["gpu"][0]["untimed"] > 0
    assert "is unknown" in text
