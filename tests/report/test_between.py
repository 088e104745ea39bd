from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.report.rows.between import IntervalRow
from perfprobe.report.section.listed import KINDS
from tests.build import Program, op
from tests.found import find
from tests.report.declared import fields_of, known
from tests.report.test_text import META, findings
from tests.snapshots import Snapshot


def loop(**meta: Any) -> Program:
    program = Program(**{**META, **meta})
    program.thread(1)
    load = program.stack("/p/train.py:9 <module>", "/p/train.py:40 main")
    steps = [
        program.stack("/p/train.py:9 <module>", "/p/train.py:44 main", f"/p/net.py:{at} step")
        for at in (10, 20)
    ]
    for at in range(100_000, 1_600_000, 500_000):
        program.run(
            op("aten::load", at, at + 50_000, stack=load),
            op("aten::mm", at + 250_000, at + 300_000, stack=steps[0]),
            op("aten::mm", at + 310_000, at + 400_000, stack=steps[1]),
            op("aten::mm", at + 405_000, at + 450_000, stack=steps[0]),
        )
    return program


def shown(program: Program, folder: Path, **options: Any) -> list[str]:
    lines = render(findings(program.recording(folder)), **options).splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("Between operators")), None)
    return [] if start is None else lines[start : lines.index("", start)]


def test_the_table_of_gaps(tmp_path: Path, snapshot: Snapshot) -> None:
    text = shown(loop(), tmp_path, width=100)
    times = [float(cell) for line in text[2:] if (cell := line[9:16].strip().removesuffix(" us"))]
    assert sum(times) == 100 + 450 + 600 + 100 + 30 + 15 == 1_295
    snapshot("\n".join(text), top=shown(loop(), tmp_path, top=1)[0])


def test_samples_show_what_ran_in_a_gap(tmp_path: Path, snapshot: Snapshot) -> None:
    program = loop(program={"argv": ["train.py"], "pid": 1001})
    caller, main, importlib = (
        "/p/train.py:9 <module>",
        "/p/train.py:40 main",
        "<frozen importlib._bootstrap>:8 f",
    )
    torch, resize = "/env/site-packages/torch/__init__.py:1 <module>", "/env/site-packages/image.py:8 resize"
    start_ns = program.meta["start"]["monotonic_ns"]
    looks = [
        *((start_ns + at, 9_000, (caller, importlib, torch)) for at in range(10_000, 40_000, 10_000)),
        *((at + 150_000, 9_000, (caller, main, resize)) for at in range(100_000, 1_600_000, 500_000)),
        *((at + 240_000, 1_000, (caller, main)) for at in range(600_000, 1_600_000, 500_000)),
        *(
            (at, 0, (caller, main, "/lib/python3.11/queue.py:3 get"))
            for at in (560_000, 1_060_000, 1_070_000)
        ),
    ]
    for end_ns, cpu_ns, frames in looks:
        program.sample(end_ns - 10_000, end_ns, *frames, cpu_ns=cpu_ns)
    snapshot("\n".join(shown(program, tmp_path, width=150)))


def test_the_focus_limits_the_rows(tmp_path: Path, snapshot: Snapshot) -> None:
    recorded = loop().recording(tmp_path)

    def places(focus: str) -> list[str]:
        found = find(link(recorded), *KINDS, focus=focus)
        lines = render(found, width=100).splitlines()
        start = next((at for at, line in enumerate(lines) if line.startswith("Between operators")), None)
        return [] if start is None else [line[43:] for line in lines[start + 2 : lines.index("", start)]]

    assert places("nothing") == []
    snapshot("\n".join(places("net.py:10")))


def test_time_before_the_first_operator_of_a_block_is_not_called_imports(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    program = loop(program={**META["program"], "is_block": True})
    snapshot(shown(program, tmp_path)[2])


def test_rows_without_time_are_left_out(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, 500_000), op("aten::mm", 1_000_000, 2_000_000))
    snapshot("\n".join(shown(program, tmp_path)))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_lines_fit_the_width_and_places_are_complete(tmp_path: Path, width: int) -> None:
    text = shown(loop(), tmp_path, width=width)
    assert max(map(cell_len, text)) <= width
    for place in ("train.py:40 -> 44", "train.py:44 -> 40", "or between calls at train.py:44"):
        assert any(place in line for line in text)


def test_without_gaps_there_is_no_section(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(op("aten::mm", 0, 1_980_000), op("aten::mm", 1_990_000, 2_000_000))
    assert shown(program, tmp_path) == []
    program.operators.clear()
    assert shown(program, tmp_path) == []


def test_without_a_known_start_there_are_no_shares(tmp_path: Path, snapshot: Snapshot) -> None:
    text = "\n".join(shown(loop(start=None), tmp_path))
    assert "%" not in text
    snapshot(text)


def test_a_note_says_that_other_threads_are_left_out(tmp_path: Path, snapshot: Snapshot) -> None:
    program = loop()
    program.thread(2)
    program.run(op("aten::mm", 0, 5), thread=1)
    snapshot(shown(program, tmp_path)[0])


def test_the_json_of_gaps(tmp_path: Path) -> None:
    rows = document(findings(loop().recording(tmp_path)))["tables"]["between"]
    assert [row["kind"] for row in rows] == ["start", "end", *["between"] * 4]
    assert list(rows[3]) == fields_of(IntervalRow)
    assert known(rows[3]) == {
        "kind": "between",
        "file": "/p/train.py",
        "line": 44,
        "function": "main",
        "to_file": "/p/train.py",
        "to_line": 40,
        "to_function": "main",
        "caller_file": "/p/train.py",
        "caller_line": 9,
        "caller_function": "<module>",
        "count": 2,
        "total_ns": 100_000,
        "mean_ns": 50_000,
        "longest_ns": 50_000,
        "share": 0.05,
    }
    assert (rows[0]["file"], rows[0]["total_ns"], rows[1]["total_ns"]) == (None, 100_000, 450_000)
