"""Rows are identified by their texts and not by the ids of one recording. How JSON writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.rows.row import inline, place, plain, unwritten
from perfprobe.report.section.listed import KINDS
from perfprobe.tables.trace import Line
from tests.build import Program
from tests.found import find
from tests.report import test_text
from tests.report.test_text import training


class Shifted(Program):
    """A program whose recording has other rows first, so that all ids differ."""

    def __init__(self, **meta: Any) -> None:
        super().__init__(**meta)
        other = self.module("other", "Other")
        for number in range(7):
            self.stack((f"/other/file{number}.py:3 other", other))
            self.signature(f"i64[{number}]")
        self.row("launches", 1, 1, 1, 1, 1, 1, 1, 0, 0, 0)


def everything(folder: Path) -> dict[str, Any]:
    """The tables of a program with rows in all of them."""
    folder.mkdir()
    program = training(gpu={"devices": [{"name": "A"}]})
    launch = program.row("launches", 16, 1, 1, 128, 1, 1, 32, 0, 0, 0)
    for at in range(6):
        start_ns = at * 100_000
        program.api_call("cudaLaunchKernel", start_ns, start_ns + 5_000, at)
        program.kernel("void at::k<int>(int)", start_ns + 9_000, start_ns + 50_000, at, launch=launch)
        program.copy(1, start_ns + 60_000, start_ns + 70_000, at)
        program.gpu_wait(3, start_ns, start_ns + 30_000, at)
        program.named_range("step", start_ns, start_ns + 99_000, domain="mine")
        program.sample(start_ns, start_ns + 100_000, "/p/train.py:20 main", "/p/data.py:5 load")
    main = program.counted("/p/train.py:20 main", 1, 10_000, 90_000)
    load = program.counted("/p/data.py:5 load", 6, 80_000, 80_000)
    program.call(main, load, 6, 80_000, 80_000)
    tables: dict[str, Any] = document(find(link(program.recording(folder)), *KINDS))["tables"]
    return tables


def test_rows_of_two_recordings_can_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = everything(tmp_path / "one")
    monkeypatch.setattr(test_text, "Program", Shifted)
    shifted = everything(tmp_path / "other")
    assert {name for name, rows in plainly.items() if rows} >= {
        *("hotspots", "ranges", "totals", "lines", "between", "functions", "calls", "threads"),
        *("devices", "kernels", "copies", "gpu_waits", "api_calls", "named_ranges"),
    }
    assert shifted == plainly


@dataclass(frozen=True)
class Inner:
    """Figures inside a row."""

    calls: int
    line: Line | None = place("at_")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row with every kind of field."""

    name: str | None
    inner: Inner = inline()
    lines: list[Line] | None
    measured: dict[str, int | None] = inline()
    hidden: object = unwritten()


def test_rows_as_json() -> None:
    line = Line("a.py", 3, "f")
    row = Row(
        name="x",
        inner=Inner(2, line),
        lines=[line],
        measured={"cpu_ns": None, "gpu_ns": 7},
        hidden=object(),
    )
    assert list(plain(row).items()) == [
        ("name", "x"),
        ("calls", 2),
        ("at_file", "a.py"),
        ("at_line", 3),
        ("at_function", "f"),
        ("lines", [{"file": "a.py", "line": 3, "function": "f"}]),
        ("cpu_ns", None),
        ("gpu_ns", 7),
    ]
    nowhere = plain(Row(name=None, inner=Inner(0, None), lines=None, measured={}, hidden=None))
    assert nowhere == {
        "name": None,
        "calls": 0,
        "at_file": None,
        "at_line": None,
        "at_function": None,
        "lines": None,
    }
