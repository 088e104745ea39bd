"""The page of two versions: its rows, and the tree of what became slower or faster."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.build import Program, op
from tests.report.paged import Page
from tests.report.test_text import META

STEP_NS = 10_000_000


def version(folder: Path, name: str, sizes_ns: dict[str, int], line: int) -> str:
    """A recording of four steps that call these operators, each at this line of a function of its own."""
    program = Program(**{**META, "stop": {"monotonic_ns": 5 * STEP_NS}})
    program.thread(1)
    main = program.stack(f"/p/{name}.py:9 <module>")
    for step in range(4):
        at, within = step * STEP_NS, []
        for operator, size_ns in sizes_ns.items():
            stack = program.stack(f"/p/{name}.py:9 <module>", f"/p/{name}.py:{line} {operator}_caller")
            inputs = program.signature(f"f32[{size_ns}]")
            within.append(op(f"aten::{operator}", at, at + size_ns, stack=stack, signature=inputs))
            at += size_ns
        end = (step + 1) * STEP_NS
        program.run(op(f"ProfilerStep#{step}", step * STEP_NS, end, *within, stack=main, scope=7))
    (folder / name).mkdir()
    path = program.recording(folder / name).path
    return str(Path(path).rename(folder / f"{name}.perfprobe"))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of two versions: one operator is slower, one is as before, one is gone and one is new."""
    folder = tmp_path_factory.mktemp("compared")
    before = version(folder, "first", {"mm": 2_000_000, "relu": 1_000_000, "old": 500_000}, 3)
    after = version(folder, "second", {"mm": 5_000_000, "relu": 1_000_000, "fresh": 700_000}, 5)
    words = [sys.executable, "-m", "perfprobe", "compare", before, after, "--html", str(folder / "page.html")]
    made = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert "page.html" in made.stderr
    return Page((folder / "page.html").read_text())


def rects(page: Page) -> dict[str, Any]:
    """The rectangles of the tree of both, by name."""
    tree = page.head["flames"]["trees"][0]
    columns = {name: page.column(place) for name, place in tree["rects"].items()}
    names = [page.head["flames"]["names"][name] for name in columns["name"]]
    return {name: {key: column[at] for key, column in columns.items()} for at, name in enumerate(names)}


def test_tree_has_both_times_of_a_step(compared: Page) -> None:
    found = rects(compared)
    kinds = compared.head["flames"]["kinds"]
    assert {
        name: (found[name]["before"], found[name]["after"]) for name in ("mm", "relu", "old", "fresh")
    } == {
        "mm": (2_000_000, 5_000_000),
        "relu": (1_000_000, 1_000_000),
        "old": (500_000, 0),
        "fresh": (0, 700_000),
    }
    assert [kinds[found[name]["kind"]] for name in ("mm", "relu", "old", "fresh")] == [
        "slower2",
        "same",
        "faster2",
        "slower2",
    ]


def test_scripts_of_different_names_are_one_root_and_rectangles_lie_in_their_callers(compared: Page) -> None:
    found = rects(compared)
    assert [name for name, rect in found.items() if rect["lane"] == 0 and name.endswith(".py")] == [
        "second.py"
    ]
    for name in ("mm", "relu"):
        inner, outer = found[name], found[f"{name}_caller"]
        assert outer["start"] <= inner["start"]
        assert inner["start"] + inner["length"] <= outer["start"] + outer["length"]


def test_it_has_the_lines_and_rows_of_the_comparison(compared: Page) -> None:
    assert [block["kind"] for block in compared.head["screen"]].count("said") >= 3
    titles = [
        block["text"] for part in compared.head["sections"] for block in part["blocks"] if "text" in block
    ]
    assert titles[0].startswith("Parts")
    assert compared.head["versions"] == ["A first", "B second"]
    assert [stretch["what"] for stretch in compared.head["timeline"]["stretches"]] == [
        "A first median",
        "B second median",
    ]
