"""The tables of ranges: first the program's, and separately a few of libraries."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from perfprobe.merge import link
from perfprobe.report.render.text import render
from perfprobe.report.section.listed import KINDS
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranges import RangeKind, RangeSource
from tests.build import Program
from tests.found import find
from tests.report.test_text import training
from tests.snapshots import Snapshot

ITT, PERFPROBE = int(RangeSource.ITT), int(RangeSource.PERFPROBE)
FREE, MARK = int(RangeKind.FREE), int(RangeKind.MARK)


def ranged(folder: Path, program: Program, focus: str | None = None) -> Findings:
    return find(link(program.recording(folder)), *KINDS, focus=focus)


def with_ranges() -> Program:
    program = training(program={"argv": ["train.py"], "script": "train.py", "pid": 1001})
    program.named_range("step", 0, 1_500_000)
    program.named_range("load", 0, 300_000, domain="mine", source=PERFPROBE)
    program.named_range("h2d", 0, 200_000, kind=FREE)
    program.named_range("epoch", 0, 0, kind=MARK)
    other = program.thread(2, "pin_memory")
    program.named_range("pinning", 10, 90_010, thread=other)
    for at in range(20):
        name = f"primitive{at}"
        program.named_range(name, at, 1_000_000 + at, domain="dnnl::primitive::execute", source=ITT)
        program.named_range(f"aten::op{at}", at, 900_000 + at, domain="PyTorch", source=ITT)
    return program


def section(text: str, title: str) -> list[str]:
    """The lines of a section."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(f"{title}  "))
    return lines[first : lines.index("", first)]


def test_ranges_of_libraries_have_a_separate_table(tmp_path: Path, snapshot: Snapshot) -> None:
    text = render(ranged(tmp_path, with_ranges()))
    own, libraries = section(text, "Ranges"), section(text, "Ranges of libraries")
    assert [row.split()[0] for row in own[2:]] == ["1.50", "300", "200", "100", "90.0"]
    assert not any("dnnl" in row for row in own)
    assert all("dnnl" in row for row in libraries[2:])
    snapshot("\n".join(own), libraries="\n".join(libraries))


def test_an_empty_column_is_left_out(tmp_path: Path) -> None:
    _, columns, *_ = section(render(ranged(tmp_path, with_ranges())), "Ranges of libraries")
    assert columns.split() == ["total", "calls", "mean", "median", "p95", "name", "set", "by"]


def test_top_and_sort_of_ranges(tmp_path: Path) -> None:
    found = ranged(tmp_path, with_ranges())
    assert len(section(render(found, top=0), "Ranges")) == 2 + 6
    assert len(section(render(found, top=0), "Ranges of libraries")) == 2 + 40
    assert len(section(render(found, top=2), "Ranges")) == 2 + 2
    assert "epoch" in section(render(found, top=0), "Ranges")[-1]


def test_a_focus_searches_names_and_domains(tmp_path: Path) -> None:
    text = render(ranged(tmp_path, with_ranges(), focus="step|mine"))
    assert "step" in text
    assert "load" in text
    assert "Ranges of libraries" not in text


def test_open_ranges_are_noted(tmp_path: Path, snapshot: Snapshot) -> None:
    program = training()
    program.named_range("endless", 500_000, -1)
    lines = section(render(ranged(tmp_path, program)), "Ranges")
    assert "1.50 ms" in lines[2]
    snapshot("\n".join(lines))


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_control_characters_in_names_are_escaped(tmp_path: Path, width: int) -> None:
    program = training()
    program.named_range("evil\x1b[2J\u202e\nname" * 20, 0, 900_000, domain="d\x1b]0;x\x07")
    text = render(ranged(tmp_path, program), width=width)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "evil\\x1b" in text
    assert max(cell_len(line) for line in text.splitlines()) <= width
