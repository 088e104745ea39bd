"""The report on measured calls."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from perfprobe.models.modifiers import PURE_COPY
from perfprobe.models.verdicts import MEANING, judge
from perfprobe.report.render.text import page
from perfprobe.report.section.efficiency import efficiency_of
from perfprobe.report.section.listed import KINDS
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import measured_file
from perfprobe.tables.measurements import Bound, Measurements, Seen, Untried, Verdict
from tests.build import Program, op
from tests.report.measured import absent, around, bernoulli, bmm, measured
from tests.snapshots import Snapshot

WIDTHS = (80, 120, 200)


def test_copies_at_full_bandwidth_are_called_pure_copies(snapshot: Snapshot) -> None:
    clone = bmm(verdict=Verdict("memory-bound", "memory-bound at 98 % of DRAM bandwidth", (PURE_COPY,)))
    summary = first_lines(render_measured(measured(clone, bernoulli()), width=200))
    assert PURE_COPY in summary
    snapshot(summary)


def first_lines(text: str) -> str:
    """The summary above the tables."""
    return text.partition("\nEfficiency")[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_line_has_the_main_result(snapshot: Snapshot, width: int) -> None:
    summary = first_lines(render_measured(measured(), width=width))
    # The parts of operator time are all of it.
    parts = re.findall(r"([\d.]+) %", " ".join(summary.split()).rpartition("Of operator time")[2])
    assert sum(map(float, parts)) == pytest.approx(100)
    snapshot(summary)


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_fit_the_width(width: int) -> None:
    assert max(map(cell_len, render_measured(measured(), width=width).splitlines())) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_whole_verdict_is_shown_at_any_width(width: int) -> None:
    words = " ".join(render_measured(measured(), width=width).split())
    for row in measured().rows:
        if row.verdict is not None:
            assert row.verdict.text in words
    assert "0.99x (0.97-1.01)" in words


def render_measured(found: Measurements, width: int = 200) -> str:
    return page(efficiency_of(found), width=width)


def test_the_columns_of_efficiency(snapshot: Snapshot) -> None:
    text = render_measured(measured())
    # CPU time if it was recorded, and the limit that the call is nearest to.
    (row,) = [line for line in text.splitlines() if " aten::bmm " in line]
    assert re.split(r" {2,}", row.strip())[3:8] == [
        *("2.44 ms", "2.40 ms", "2.16-2.64 ms", "2.00 ms", "41 % (40-42)")
    ]
    snapshot(text)


def test_calls_not_rebuilt_have_a_share_and_a_reason(snapshot: Snapshot) -> None:
    snapshot(render_measured(measured(absent())))


def test_a_typed_call_is_shown(snapshot: Snapshot) -> None:
    text = render_measured(measured(replace(bmm(), seen=None), left_out_share=None, notes=()))
    assert "share" not in text
    snapshot(text)


def test_calls_not_reproduced_have_no_limit(snapshot: Snapshot) -> None:
    seen = Seen(calls=10, share=0.3, self_ns=72_000_000, total_ns=73_000_000, cpu_ns=72_000_000)
    row = bmm(seen=seen, replay=1 / 3, bounds=(Bound("memory", around(0.95), "copy_"),))
    text = render_measured(measured(replace(row, verdict=judge(row))))
    assert "faster kernel" not in text
    snapshot(text)


def test_wall_time_of_the_program_is_not_compared(snapshot: Snapshot) -> None:
    seen = Seen(calls=10, share=0.3, self_ns=720_000_000, total_ns=730_000_000, cpu_ns=None)
    row = bmm(seen=seen, bounds=(Bound("memory", around(0.95), "copy_"),))
    judged = judge(row)
    assert judged.kind == "memory-bound"
    snapshot(render_measured(measured(replace(row, verdict=judged))))


def test_a_single_process_gives_no_interval(snapshot: Snapshot) -> None:
    text = render_measured(measured(replace(bernoulli(), processes=1)))
    snapshot("\n".join(line for line in text.splitlines() if "tried" in line))


def test_each_word_is_explained_once() -> None:
    text = render_measured(measured(bmm(), bmm()))
    assert text.count(f"below ceiling: {MEANING['below ceiling']}") == 1


def test_an_interrupted_measurement_is_reported(snapshot: Snapshot) -> None:
    snapshot(render_measured(measured(bmm(), stopped="interrupted")))


def test_threads_are_shown_as_a_speed_up_over_one() -> None:
    slower = replace(bernoulli().counterfactuals[0], speedup=around(0.5))
    two = render_measured(measured(replace(bernoulli(), counterfactuals=(slower,))))
    assert " 2.00x  element" in two
    one = replace(bernoulli().wanted, threads=1)
    assert " 0.50x  element" in render_measured(
        measured(replace(bernoulli(), wanted=one, counterfactuals=(slower,)))
    )


def test_changes_not_tried_have_a_reason(snapshot: Snapshot) -> None:
    left_out = (
        Untried("dtype", "f32→bf16", "products of bf16 are slower here than those of f32: 0.03x"),
        Untried("", "", "no time left"),
    )
    text = render_measured(measured(replace(bmm(), untried=left_out)))
    snapshot("\n".join(line for line in text.splitlines() if "tried" in line))


def test_missing_measurements_are_not_shown_as_numbers(snapshot: Snapshot) -> None:
    bare = bmm(rotating=None, warm=None, bounds=(), verdict=Verdict("unjudged", "unjudged: no work model"))
    text = render_measured(measured(bare))
    assert "0 ns" not in text
    snapshot(text)


def test_control_characters_are_escaped() -> None:
    evil = "\x1b[2J\u202e"
    row = bmm(verdict=Verdict("below ceiling", f"below ceiling {evil}", (evil,)), not_rebuilt=None)
    text = render_measured(measured(row, replace(absent(), not_rebuilt=evil), stopped=evil, notes=(evil,)))
    assert "\x1b" not in text
    assert "\u202e" not in text


def recording(folder: Path) -> str:
    program = Program(torch={"threads": 2})
    program.thread(1)
    line = program.stack("/p/train.py:1 main")
    given = bernoulli().wanted.signature
    inputs, matrices = program.signature(given), program.signature(bmm().wanted.signature)
    program.run(
        op("aten::bernoulli_", 0, 600, stack=line, signature=inputs, overload=program.string("float")),
        op("aten::bmm", 600, 900, stack=line, signature=matrices),
        op("aten::add", 900, 1000, stack=line, signature=inputs),
    )
    return program.recording(folder).path


def kept(path: str) -> None:
    identity = measured_file.identity(Results(path).findings(View(), KINDS, work=False).trace.recording)
    measured_file.write(measured_file.beside(path), measured(), identity)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_finds_measurements_beside_the_recording(width: int, tmp_path: Path) -> None:
    path = recording(tmp_path)
    before = Results(path).text(View(full=True), width=width)
    assert "verdict" not in before
    assert "Efficiency" not in before
    kept(path)
    text = Results(path).text(View(full=True), width=width)
    assert "Efficiency" in text
    rows = [line for line in text.splitlines() if "train.py:1" in line][1:4]
    if width == 200:
        assert [line.split()[-2:] for line in rows] == [
            ["%", "element-rate-bound"],
            ["below", "ceiling"],
            ["-", "-"],
        ]


def test_the_report_respects_the_number_of_rows(tmp_path: Path) -> None:
    path = recording(tmp_path)
    identity = measured_file.identity(Results(path).findings(View(), KINDS, work=False).trace.recording)
    measured_file.write(measured_file.beside(path), measured(*[bmm()] * 30), identity)
    for top, shown in ((None, 20), (3, 3), (0, 30)):
        text = Results(path).text(View(top=top, full=True), width=200)
        section = text[text.index("Efficiency") : text.index("Hot lines")]
        assert section.count("aten::bmm") == shown
        assert "30 calls" in section


def test_json_has_the_measurements(tmp_path: Path) -> None:
    path = recording(tmp_path)
    assert "measurements" not in Results(path).document(View())["tables"]
    kept(path)
    document = json.loads(json.dumps(Results(path).document(View()), allow_nan=False))
    rows = document["tables"]["measurements"]
    assert [row["wanted"]["operator"] for row in rows] == [
        "aten::bernoulli_.float",
        "aten::bmm",
        "mine::window",
    ]
    assert rows[0]["bounds"][1] == {
        "kind": "element",
        "fraction": {"value": 0.97, "low": pytest.approx(0.9506), "high": pytest.approx(0.9894)},
        "reference": "rng",
        "level": None,
        "isa_fraction": None,
    }
    reported = [(row["of_limit"], row["limit"], row["verdict"]) for row in document["tables"]["hotspots"]]
    assert reported == [
        (0.97, "element", "element-rate-bound"),
        (0.41, "gemm", "below ceiling"),
        (None, None, None),
    ]


@pytest.mark.parametrize("text", ["", "[[[[", '{"schema": 1, "meta": {}, "tables": {}}'])
def test_measurements_of_other_recordings_are_refused(text: str, tmp_path: Path) -> None:
    path = recording(tmp_path)
    Path(measured_file.beside(path)).write_text(text)
    document = Results(path).document(View())
    assert "measurements" not in document["tables"]
    (loss,) = document["missing"]
    assert loss["source"] == "bench"
    assert "perfprobe bench" in loss["remedy"]
    assert "Efficiency" not in Results(path).text(View(full=True))
