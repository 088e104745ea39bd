"""The section about the critical path."""

from __future__ import annotations

from pathlib import Path

from perfprobe.results import Results
from perfprobe.support.view import View
from tests.build import Program, op
from tests.snapshots import Snapshot

MS = 1_000_000


def made(folder: Path) -> Results:
    program = Program(program={"pid": 1001})
    program.thread(1)
    line = program.stack("/p/train.py:9 main")
    program.run(op("aten::mm", 0, 30 * MS, stack=line), op("aten::add", 40 * MS, 100 * MS, stack=line))
    return Results(program.recording(folder).path)


def test_what_it_says(tmp_path: Path, snapshot: Snapshot) -> None:
    text = made(tmp_path).text(View(view="critical-path"))
    shares = [float(line.split()[0]) for line in text.splitlines()[2:5]]
    assert shares == [60, 30, 10]
    snapshot(text)


def test_its_tables(tmp_path: Path) -> None:
    tables = made(tmp_path).document(View())["tables"]
    assert tables["critical_length"] == [
        {
            "length_ns": 100 * MS,
            "hta_ns": 90 * MS,
            "wall_ns": 100 * MS,
            "steps": 0,
            "steady_steps": 0,
            "left_out": 0,
        }
    ]
    first = tables["critical_path"][0]
    assert (first["bound"], first["operator"], first["line"], first["total_ns"]) == (
        "cpu",
        "aten::add",
        9,
        60 * MS,
    )
