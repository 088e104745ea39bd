"""`report --json --brief`: at most 40 KB of any recording, compared with the whole document."""

from __future__ import annotations

import json
import os
from math import comb
from pathlib import Path
from typing import Any

import pytest

from perfprobe.report.render.brief_json import FACTS, MOST_BYTES, ROWS, TABLES, brief
from perfprobe.report.render.json import Document, listed
from perfprobe.report.rows.row import Values
from perfprobe.results import Results
from perfprobe.support.view import View
from tests.build import Program, op
from tests.collect.runs import command, perfprobe
from tests.report.test_screen_invariants import OnGpu, Random
from tests.report.test_text import META

TRACES = sorted(Path(os.environ.get("PERFPROBE_TRACES", "/nowhere")).glob("*.json.gz"))
BRIEF = View(brief=True)
LARGEST = {"modules": "total_ns"}  # tables that are not in the order of their size


def written(results: Results, view: View = BRIEF) -> dict[str, Any]:
    text = "".join(results.written(view).pieces())
    assert len(text.encode()) <= MOST_BYTES
    found: dict[str, Any] = json.loads(text)
    return found


def without_parts(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and not isinstance(value, list)}


def check(results: Results) -> None:
    """The rows are the first or largest of the whole document, and what is missing is counted."""
    whole, found = results.document(View()), written(results)
    left_out = {each["part"]: each for each in found["left_out"]}
    for name, of_whole in whole["tables"].items():
        shown, rows = found["tables"].get(name, []), of_whole
        if name in LARGEST:
            rows = sorted(of_whole, key=lambda row: -row[LARGEST[name]])
        assert shown == [without_parts(row) for row in rows[: len(shown)]]
        missing = left_out.get(name, {"shown": len(rows), "left_out": 0})
        assert (missing["shown"], missing["left_out"]) == (len(shown), len(rows) - len(shown))
        assert len(shown) in (0, min(ROWS, len(rows)), len(rows))
    assert set(found["tables"]) == set(TABLES) & set(whole["tables"])
    assert found["missing"] == [without_parts(row) for row in whole["missing"][:ROWS]]
    assert [*found["meta"]] == [name for name in FACTS if name in whole["meta"]]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_of_stored_traces(path: Path) -> None:
    written(Results(str(path)))


@pytest.mark.parametrize("kind", [Random, OnGpu])
@pytest.mark.parametrize("seed", range(8))
def test_of_random_programs(seed: int, kind: type[Random], tmp_path: Path) -> None:
    check(Results(kind(seed).made().recording(tmp_path).path))


@pytest.mark.slow
def test_of_twenty_thousand_operators_with_long_names(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    stack = program.stack(f"/{'deep/' * 40}train.py:1 {'main' * 50}")
    for number in range(20_000):
        name = f"aten::{'é' * 60}{number}"
        program.run(op(name, 10 * number, 10 * number + 5 + number % 7, stack=stack))
    results = Results(program.recording(tmp_path).path)
    found = written(results)
    shown = len(found["tables"]["hotspots"])
    left_out = {each["part"]: each["left_out"] for each in found["left_out"]}
    assert 0 < shown <= ROWS
    assert left_out["hotspots"] == 20_000 - shown
    assert {row["self_ns"] for row in found["tables"]["hotspots"]} == {11}


def made(letter: str, letters: int, rows: int, fields: int = 20) -> Document:
    """A document in which everything is as long as it can be."""
    row = {f"field_{at}": letter * letters for at in range(fields)} | {
        "total_ns": 1,
        "list": [1],
        "none": None,
    }
    facts = {name: {f"{letter * letters}{at}": letter * letters for at in range(rows)} for name in FACTS}
    head = {"schema": 1, "meta": facts, "view": {}, "missing": [row] * rows}
    return Document(head, {name: [Values(row)] * rows for name in (*TABLES, "other")})


@pytest.mark.parametrize("letter", ["a", "\\", "€", "🐢", "\x00"])
@pytest.mark.parametrize(("letters", "rows"), [(10, 1), (30, 30), (150, 300), (5000, 20)])
def test_whatever_is_too_long_is_left_out_and_counted(letter: str, letters: int, rows: int) -> None:
    whole = made(letter, letters, rows)
    text = "".join(brief(whole, "perfprobe report x").pieces())
    found = json.loads(text)
    assert len(text.encode()) <= MOST_BYTES
    left_out = {each["part"]: each["left_out"] for each in found["left_out"]}
    for name in whole.tables:
        assert len(found["tables"].get(name, [])) + left_out.get(name, 0) == rows
    assert len(found["missing"]) + left_out.get("missing", 0) == rows


def test_more_rows_on_request() -> None:
    whole = made("a", 4, 60, 2)
    for top, most in ((None, ROWS), (3, 3), (20, 20), (60, ROWS)):
        rows = json.loads("".join(brief(whole, "", top).pieces()))["tables"]["lines"]
        assert len(rows) == most


def test_several_documents_are_a_list() -> None:
    document = brief(made("a", 4, 3), "x")
    assert json.loads("".join(listed([document, document]))) == [document.plain()] * 2


def test_the_command_prints_it_and_names_the_whole(tmp_path: Path) -> None:
    path = Random(1).made().recording(tmp_path).path
    short = command(["report", path, "--json", "--brief", "--top", "2"], tmp_path)
    found = json.loads(short.out)
    assert short.status == 0
    assert len(found["tables"]["lines"]) == 2
    words = found["all"].split()
    assert words[0] == "perfprobe"
    whole = json.loads(perfprobe(words[1:], tmp_path).out)
    assert whole == json.loads(json.dumps(Results(path).document(View())))


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_the_median_is_that_of_the_steps(seed: int, tmp_path: Path) -> None:
    """The narrowest pair of steps around the middle between which the median is in 95 % of random samples."""
    tables = Results(Random(seed).made().recording(tmp_path).path).document(View())["tables"]
    steps = [row for row in tables["steps"] if row["loop"] == 0 and row["mark"] == "steady"]
    ordered = sorted(row["end_ns"] - row["start_ns"] for row in steps)
    number, (loop, *_) = len(ordered), tables["loops"]
    bounds: tuple[int | None, int | None] = (None, None)
    for below in range(1, number // 2 + 1):
        halves = [comb(number, heads) for heads in range(below, number - below + 1)]
        if sum(halves) >= 0.95 * 2**number:
            bounds = ordered[below - 1], ordered[number - below]
    assert (loop["low_ns"], loop["high_ns"]) == bounds
    assert loop["steady"] == number
