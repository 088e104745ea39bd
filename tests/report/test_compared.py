"""The comparison of two versions as it is shown: at most 14 lines of 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe import comparing
from perfprobe.models.compared import Comparison
from tests.snapshots import Snapshot
from tests.test_comparing import changed, compare, of_folders
from tests.versions import BASE, Call, Version, folders

LIMITS = ("step>3%", "peak_memory>5%", "calls>0")


def slower(tmp_path: Path) -> Comparison:
    calls = [*changed(0, backward_ms=9, inputs="f64[16,32,3]"), Call("aten::item", 3, 17, "loss.item()")]
    return of_folders(folders(tmp_path, BASE, calls, start_up_ms=160))


def texts(found: Comparison, *limits: str) -> str:
    results = comparing.judged(found, comparing.gates(limits))
    return "\n".join(comparing.text(found, results, width=width) for width in (80, 200))


@pytest.mark.parametrize("kind", ["slower", "same", "one run", "data", "strange", "no steps"])
def test_screen(tmp_path: Path, snapshot: Snapshot, kind: str) -> None:
    made = {
        "slower": lambda: slower(tmp_path),
        "same": lambda: of_folders(folders(tmp_path, BASE, changed(0))),
        "one run": lambda: compare(tmp_path, Version(), Version(changed(1, number=3))),
        "data": lambda: compare(tmp_path, Version(data_ms=20), Version(data_ms=0.1)),
        "strange": lambda: compare(tmp_path, Version(), Version([Call("aten::mm", 90, 9, "x")], data_ms=0)),
        "no steps": lambda: compare(tmp_path, Version(), Version(steps=0)),
    }
    text = texts(made[kind](), *LIMITS)
    narrow = text.partition("\n\n")[0].splitlines()
    assert len(narrow) <= comparing.LINES
    assert max(map(len, narrow)) <= 80
    snapshot(text)


def test_all_rows(tmp_path: Path, snapshot: Snapshot) -> None:
    found = slower(tmp_path)
    snapshot("\n".join(comparing.text(found, full=True, width=width) for width in (80, 200)))


def test_markdown(tmp_path: Path, snapshot: Snapshot) -> None:
    found = slower(tmp_path)
    snapshot(comparing.markdown(found, comparing.judged(found, comparing.gates(LIMITS))))


def test_annotations(tmp_path: Path, snapshot: Snapshot) -> None:
    found = slower(tmp_path)
    lines = comparing.marked_lines(found, comparing.judged(found, comparing.gates(["step>3%"])))
    assert 0 < len(lines) <= 10
    assert all(line.startswith("::error ") for line in lines)
    assert comparing.marked_lines(found, comparing.judged(found, comparing.gates(["step>90%"]))) == []
    snapshot("\n".join(lines) + "\n")


def test_a_page_of_benchmarks_gets_what_it_reads(tmp_path: Path) -> None:
    found = comparing.benchmark_page(slower(tmp_path))
    assert {"name", "unit", "value", "range"} == set(found[0])
    assert found[0]["name"] == "step"
    assert found[0]["value"] == pytest.approx(30, rel=0.02)  # ms


def test_the_document_has_all_of_it(tmp_path: Path) -> None:
    found = slower(tmp_path)
    document: dict[str, Any] = json.loads(json.dumps(comparing.document(found), allow_nan=False))
    assert document["verdict"] == "slower"
    assert sum(row["time_ns"]["by"] for row in document["rows"]) == pytest.approx(
        sum(each["by"] for each in document["phases"].values())
    )
    assert {row["match"] for row in document["rows"]} == {"same", "new"}
