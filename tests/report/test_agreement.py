"""The section on the two sources, with differences made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from perfprobe.merge import link
from perfprobe.report.render.text import render
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.sources import ONLY_AUTOGRAD, SIGNATURE, Differences, Sources
from tests.found import find
from tests.report.test_text import training
from tests.snapshots import Snapshot

REASON = "torch.profiler does not record this\x1b"


def section(folder: Path, width: int, *rows: tuple[str, str, str, str, int]) -> list[str]:
    """The lines of the section. rows: kind, operator, values of both (`ours|theirs`), reason, count."""
    program = training(autograd={"windows": 1, "reading_ns": 5})
    names = [program.string(operator) if operator else -1 for _, operator, *_ in rows]
    texts = [np.array(column, np.object_) for column in zip(*rows, strict=True)]
    says = [text.partition("|") for text in texts[2]]
    differences = Differences(
        kind=texts[0],
        name=np.array(names, np.int32),
        overload=np.full(len(rows), -1, np.int32),
        observer=np.array([ours for ours, _, _ in says], np.object_),
        autograd=np.array([theirs for _, _, theirs in says], np.object_),
        reason=texts[3],
        count=np.array([row[4] for row in rows], np.int64),
    )
    sources = Sources(
        both=9,
        observer=9,
        autograd=9,
        windows=1,
        reading_ns=5,
        clock_error_ns=1,
        apart_ns=2,
        differences=differences,
    )
    trace = replace(link(program.recording(folder)), sources=sources)
    lines = render(find(trace, Hotspots), width=width).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Sources"))
    return lines[start : lines.index("", start)]


def test_explained_differences_are_a_line_and_others_a_table(tmp_path: Path, snapshot: Snapshot) -> None:
    lines = section(
        tmp_path,
        200,
        (SIGNATURE, "aten::zeros", "", REASON, 70),
        (SIGNATURE, "aten::ones", "", REASON, 1_060),
        (SIGNATURE, "aten::to", "", REASON, 50),
        (SIGNATURE, "aten::full", "", REASON, 20),
        (ONLY_AUTOGRAD, "", "", REASON, 3),
        (SIGNATURE, "aten::mm", "f32[2]|f32[3]", "", 2),
    )
    snapshot("\n".join(lines))


def test_lines_fit_the_width(tmp_path: Path) -> None:
    lines = section(
        tmp_path, 80, (SIGNATURE, "aten::mm", "f32[2] " * 20 + "|f32", "", 2), (SIGNATURE, "a", "", REASON, 7)
    )
    assert max(map(len, lines)) <= 80
    assert "7 x signature" in lines[-1] or "7 x signature" in lines[-2]
