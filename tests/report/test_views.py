"""The table of operators with other groupings, columns, and a focus."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

from perfprobe.merge import link
from perfprobe.models import work
from perfprobe.report.render.text import render
from perfprobe.report.rows.ranking import SORTS
from perfprobe.support import view
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Hotspots
from perfprobe.tables.trace import Phase
from tests.build import Program, op
from tests.found import find, hotspots
from tests.report.test_text import META, training
from tests.snapshots import Snapshot


def report(program: Program, folder: Path, width: int = 200, **options: Any) -> str:
    chosen = {name: options.pop(name) for name in ("group", "focus", "work") if name in options}
    trace = link(program.recording(folder))
    return render(find(trace, Hotspots, **chosen), width=width, **options)


def operators(text: str) -> str:
    """The section of operators."""
    lines = text.splitlines()
    first = lines.index("") + 1  # after the summary
    return "\n".join(lines[first : lines.index("", first)])


def table(text: str) -> list[list[str]]:
    """The cells of the table of operators, titles first."""
    lines = text.splitlines()
    lines = lines[lines.index("") + 2 :]  # after the summary and the heading
    return [re.split(r" {2,}", line.strip()) for line in lines[: lines.index("")]]


def titles_of(text: str) -> list[str]:
    """The titles of the table of operators."""
    line = next(line.strip() for line in text.splitlines() if line.strip().startswith(("share ", "Name ")))
    return re.split(r" {2,}", line)


def busy(*, nested: bool = False) -> Program:
    """Ten calls of a microsecond each. The last one was pre-empted."""
    program = Program(**META)
    program.thread(1)
    stack = program.stack("/p/a.py:3 f")
    for at in range(10):
        end = at * 1000 + (1000 if at < 9 else 50_000)
        inner = [op("aten::copy_", at * 1000, at * 1000 + 100, stack=stack)] if nested else []
        program.run(op("aten::mm", at * 1000, end, *inner, stack=stack))
    program.run(op("aten::add", 100_000, 101_000))
    return program


def test_every_sort_order_has_a_test() -> None:
    assert tuple(SORTS) == view.SORTS


@pytest.mark.parametrize("width", [80, 200])
def test_a_misleading_sum_is_marked_and_corrected_in_a_note(
    tmp_path: Path, snapshot: Snapshot, width: int
) -> None:
    text = report(busy(), tmp_path, width)
    assert re.search(r"98\.3 % +59\.0 us~ ", text)
    assert re.search(r" 1\.7 % +1\.00 us  ", text)
    assert "~" not in report(training(), tmp_path, width)
    snapshot(operators(text))


def test_self_time_is_corrected_like_total_time(tmp_path: Path, snapshot: Snapshot) -> None:
    nested = operators(report(busy(nested=True), tmp_path))
    assert "9.83 us" in nested  # 58 of 59 parts of 10 us
    snapshot(nested=nested, by_signature=operators(report(busy(), tmp_path, group="signature")))


@pytest.mark.parametrize("group", ["op", "line", "module"])
def test_calls_are_compared_with_calls_of_equal_inputs_in_every_grouping(tmp_path: Path, group: str) -> None:
    assert re.search(r"(59|60)\.0 us~ ", report(busy(), tmp_path, group=group))
    program = Program(**META)
    program.thread(1)
    for at in range(10):  # all equal except one with different inputs
        end, text = (at * 1000 + 1000, "f32[2]") if at < 9 else (59_000, "f32[900]")
        fields = {"stack": program.stack("/p/a.py:3 f"), "signature": program.signature(text)}
        program.run(op("aten::mm", at * 1000, end, **fields))
    assert "~" not in report(program, tmp_path, group=group)


def test_the_headline_respects_the_mark_of_its_row(tmp_path: Path, snapshot: Snapshot) -> None:
    alone = report(busy(), tmp_path)
    program = busy()
    program.run(op("aten::exp", 200_000, 220_000, stack=program.stack("/p/a.py:8 f")))
    beside = report(program, tmp_path)
    snapshot(alone=alone.partition("\n\n")[0], beside=beside.partition("\n\n")[0])


def test_times_below_the_measurement_floor_are_not_shown(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    program.run(*(op("aten::alias", at, at + 2) for at in range(0, 1000, 10)))
    program.run(op("aten::mm", 2000, 2025))
    assert table(report(program, tmp_path))[1][1:7] == ["200 ns", "200 ns", "100", "2 ns", "2 ns", "2 ns"]
    program.meta["cost"] = {"event_ns": 200.0, "empty_ns": 24.6}
    rows = table(report(program, tmp_path))
    assert rows[1][1:7] == ["<2.50 us", "<2.50 us", "100", "<25 ns", "<25 ns", "<25 ns"]
    assert rows[2][1:7] == ["25 ns", "25 ns", "1", "25 ns", "25 ns", "25 ns"]
    for odd in (-3, "x", 1e12, None):
        program.meta["cost"] = {"empty_ns": odd}
        assert table(report(program, tmp_path))[1][1:7] == ["200 ns", "200 ns", "100", "2 ns", "2 ns", "2 ns"]


def test_titles_of_each_group(tmp_path: Path) -> None:
    sums = ["share", "self", "total", "calls"]
    calls = ["mean", "median", "p95"]
    titles = {
        "row": [*sums, *calls, "operator", "signature", "line", "module", "phase"],
        "op": [*sums, *calls, "operator", "signatures", "lines"],
        "signature": [*sums, *calls, "operator", "signature", "lines"],
        "line": [*sums, "line", "fwd", "bwd", "operators", "module"],
        "module": [*sums, "module", "fwd", "bwd", "operators", "lines"],
    }
    assert set(titles) == set(view.GROUPS)
    for group, wanted in titles.items():
        assert table(report(training(), tmp_path, group=group))[0] == wanted


def test_a_line_shows_its_operators_modules_and_phases(tmp_path: Path, snapshot: Snapshot) -> None:
    text = operators(report(training(), tmp_path, group="line"))
    assert "Backward:" not in text
    snapshot(text)


@pytest.mark.parametrize("columns", view.COLUMNS)
@pytest.mark.parametrize("group", view.GROUPS)
def test_every_view_fits_the_width(tmp_path: Path, group: str, columns: str) -> None:
    for width in (80, 120, 200):
        text = report(training(), tmp_path, width, group=group, columns=columns, work=True)
        assert max(cell_len(line) for line in text.splitlines()) <= width


def test_a_focus_shows_its_share_of_the_whole(tmp_path: Path, snapshot: Snapshot) -> None:
    text = report(training(), tmp_path, focus="bmm")
    assert [row[0] for row in table(text)[1:]] == ["60.0 %", "30.0 %"]
    assert "Ranges" not in text
    top = report(training(), tmp_path, focus="bmm", top=1)
    ranges = report(training(), tmp_path, focus="DataLoader")
    snapshot(operators(text), top=operators(top), ranges=ranges.partition("\n\n")[2])


def test_a_printed_focus_can_be_copied(tmp_path: Path, snapshot: Snapshot) -> None:
    assert r"focus 'f32\[64,128\]':" in report(training(), tmp_path, focus=r"f32\[64,128\]")
    snapshot(operators(report(training(), tmp_path, focus="it's\x1b")))


def test_columns_of_torch_profilers_table(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "flops", lambda operator, _: 2_000_000 if operator == "aten::bmm" else None)
    program = training()
    program.run(op("aten::empty", 2_000_000, 2_000_010, allocated_bytes=2048, freed_bytes=512))
    torchs = report(program, tmp_path, group="op", columns="autograd", work=True)
    assert table(torchs)[-2][6] == "1.50 KiB"
    everything = report(program, tmp_path, 300, columns="all", work=True)
    assert table(everything)[1][7:11] == ["2.00 M", "3.33", "-", "-"]
    snapshot(autograd=operators(torchs), all=operators(everything))


def with_autograd(batch: LinkedOperators) -> LinkedOperators:
    duration_ns = batch.end_ns - batch.start_ns
    return replace(batch, autograd_ns=duration_ns + 5_000, autograd_self_ns=duration_ns + 1_000)


def test_both_sources_are_shown_side_by_side(tmp_path: Path, snapshot: Snapshot) -> None:
    trace = link(training().recording(tmp_path))
    both = replace(trace, stream=lambda *asked: map(with_autograd, trace.stream(*asked)))
    found = find(both, Hotspots)
    rows = table(render(found))
    assert rows[1][:4] == ["60.0 %", "600 us", "601 us", "600 us"]
    torchs = render(found, columns="autograd")
    assert table(torchs)[1][1:6] == ["59.9 %", "601 us", "60.3 %", "605 us", "605 us"]
    snapshot(short=operators(render(found)), autograd=operators(torchs))


def test_the_sort_column_is_never_dropped(tmp_path: Path) -> None:
    usual, by_p95 = (report(training(), tmp_path, 80, sort=sort).splitlines() for sort in ("self", "p95"))
    for lines, is_there in ((usual, False), (by_p95, True)):
        (titles,) = [line for line in lines if line.lstrip().startswith("share")]
        assert ("p95" in titles) == is_there


@pytest.mark.parametrize("group", ["row", "op"])
@pytest.mark.parametrize("columns", ["all", "autograd"])
@pytest.mark.parametrize(
    ("sort", "title"),
    [
        ("calls", "# of Calls"),
        ("total", "CPU total"),
        ("mean", "CPU time avg"),
        ("median", "median"),
        ("p95", "p95"),
    ],
)
def test_the_sort_column_is_added_to_requested_columns(
    tmp_path: Path, group: str, columns: str, sort: str, title: str
) -> None:
    text = report(training(), tmp_path, 60, group=group, columns=columns, sort=sort)
    assert (title if columns == "autograd" else sort) in titles_of(text)


def with_work(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(work, "flops", lambda *_: 2_000_000)
    program = training()
    program.run(op("aten::empty", 2_000_000, 2_000_010, allocated_bytes=2048, freed_bytes=512))
    return program


@pytest.mark.parametrize(
    ("columns", "asked"),
    [
        ("all", ["FLOPs", "GFLOP/s", "allocated", "freed"]),
        ("autograd", ["CPU total", "Self CPU Mem", "# of Calls", "Total FLOPs"]),
    ],
)
def test_requested_columns_are_dropped_last_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str, asked: list[str]
) -> None:
    program = with_work(monkeypatch)
    text = report(program, tmp_path, 110, columns=columns, work=True)
    assert not set(asked) - set(titles_of(text))
    found = re.search(r"Left out at this width: ([^(]+) \(COLUMNS=(\d+) shows all\)", " ".join(text.split()))
    assert found is not None
    left_out = found[1].split(", ")
    assert "module" in [title.lower() for title in left_out]
    assert not set(left_out) & set(titles_of(text))
    wide = report(program, tmp_path, int(found[2]), columns=columns, work=True)
    assert "Left out" not in wide
    assert not {*left_out, *asked} - set(titles_of(wide))
    assert "Left out" not in report(program, tmp_path, 80)


def test_much_tracing_is_noted(tmp_path: Path, snapshot: Snapshot) -> None:
    trace = link(training().recording(tmp_path))

    def compiling(batch: LinkedOperators) -> LinkedOperators:
        return replace(batch, phase=np.full(len(batch), Phase.COMPILE, np.int8))

    traced = replace(trace, stream=lambda *asked: map(compiling, trace.stream(*asked)))
    assert len(hotspots(traced, focus="^(fwd|bwd|rec|oth)$").rows) == 0
    assert "Phase compile" not in render(find(trace, Hotspots))
    shown = {group: operators(render(find(traced, Hotspots, group=group))) for group in ("row", "line")}
    assert all("Phase compile" in text for text in shown.values())
    snapshot(**shown)


def test_inexact_quantiles_are_noted(tmp_path: Path, snapshot: Snapshot) -> None:
    trace = link(training().recording(tmp_path))
    found = find(trace, Hotspots)
    exact = operators(render(found))
    rows = found[Hotspots].rows
    rows = replace(rows, quantile_error_ppm=np.full(len(rows), 125_000))
    inexact = operators(render(found.plus(replace(found[Hotspots], rows=rows))))
    (note,) = set(inexact.splitlines()) - set(exact.splitlines())
    snapshot(note)
