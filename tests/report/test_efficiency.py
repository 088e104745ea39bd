"""The report on measured calls."""

import json
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

WIDTHS = (80, 120, 200)


def test_copies_at_full_bandwidth_are_called_pure_copies() -> None:
    clone = bmm(verdict=Verdict("memory-bound", "memory-bound at 98 % of DRAM bandwidth", (PURE_COPY,)))
    text = render_measured(measured(clone, bernoulli()), width=200)
    assert f"Of operator time: 6.0 % {PURE_COPY}, 16.0 % near a limit of this machine" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_line_has_the_main_result(width: int) -> None:
    text = render_measured(measured(), width=width)
    assert text.startswith("bernoulli_.float f32[128,128,128] p=float takes 16.0 % of operator time:")
    words = " ".join(text.split())
    assert "element-rate-bound at 97 % (rng); serial kernel: 1.01x on 2 threads." in words
    assert (
        "Of operator time: 16.0 % near a limit of this machine, 6.0 % below its limit, "
        "5.0 % without an answer, 73.0 % not measured." in words
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_fit_the_width(width: int) -> None:
    assert max(map(cell_len, render_measured(measured(), width=width).splitlines())) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_whole_verdict_is_shown_at_any_width(width: int) -> None:
    words = " ".join(render_measured(measured(), width=width).split())
    assert words.count("below ceiling: 41 % of GEMM peak (f32, 2 threads)") == 1
    assert "tried, times as fast: 2→1 threads 0.99x (0.97-1.01)" in words


def render_measured(found: Measurements, width: int = 200) -> str:
    return page(efficiency_of(found), width=width)


def test_the_columns_of_efficiency() -> None:
    lines = render_measured(measured()).splitlines()
    (title,) = [at for at, line in enumerate(lines) if "of limit" in line]
    assert lines[title].split() == [
        *("share", "operator", "signature", "program", "isolated", "low-high", "warm"),
        *("of", "limit", "threads", "verdict"),
    ]
    assert "13.1 ms   12.0 ms  11.8-12.2 ms  11.9 ms  97 % (95-99)    1.01x" in lines[title + 1]
    # CPU time if it was recorded, and the limit that the call is nearest to.
    (row,) = [line for line in lines if " aten::bmm " in line]
    assert "2.44 ms   2.40 ms  2.16-2.64 ms  2.00 ms  41 % (40-42)        -" in row


def test_calls_not_rebuilt_have_a_share_and_a_reason() -> None:
    text = render_measured(measured())
    assert "Not rebuilt  5.0 % of operator time\n" in text
    assert "5.0 %  mine::window f32[8,16]: the library of mine:: is not loaded here" in text
    alone = render_measured(measured(absent()))
    assert alone.startswith("mine::window f32[8,16] takes 5.0 % of operator time: not rebuilt: the library")


def test_a_typed_call_is_shown() -> None:
    row = replace(bmm(), seen=None)
    text = render_measured(measured(row, left_out_share=None, notes=()))
    assert text.startswith("bmm f32[128,128,16] f32[128,16,128].T takes 2.40 ms: below ceiling: 41 % of GEMM")
    assert "share" not in text
    assert "Of operator time" not in text


def test_calls_not_reproduced_have_no_limit() -> None:
    seen = Seen(calls=10, share=0.3, self_ns=72_000_000, total_ns=73_000_000, cpu_ns=72_000_000)
    row = bmm(seen=seen, replay=1 / 3, bounds=(Bound("memory", around(0.95), "copy_"),))
    text = " ".join(render_measured(measured(replace(row, verdict=judge(row)))).split())
    assert "not reproduced: 7.20 ms of CPU time in the program, 2.40 ms by itself." in text
    assert "Of operator time: 30.0 % not reproduced, 73.0 % not measured." in text
    assert "near a limit" not in text
    assert "faster kernel" not in text


def test_wall_time_of_the_program_is_not_compared() -> None:
    seen = Seen(calls=10, share=0.3, self_ns=720_000_000, total_ns=730_000_000, cpu_ns=None)
    row = bmm(seen=seen, bounds=(Bound("memory", around(0.95), "copy_"),))
    text = " ".join(render_measured(measured(replace(row, verdict=judge(row)))).split())
    assert "memory-bound at 95 % (" in text
    assert "by itself" not in text
    assert "by themselves" not in text


def test_a_single_process_gives_no_interval() -> None:
    words = render_measured(measured(replace(bernoulli(), processes=1)))
    assert "tried, times as fast: 2→1 threads 0.99x\n" in words


def test_each_word_is_explained_once() -> None:
    text = render_measured(measured(bmm(), bmm()))
    assert text.count(f"below ceiling: {MEANING['below ceiling']}") == 1


def test_an_interrupted_measurement_is_reported() -> None:
    assert "Not all was measured: interrupted.\n" in render_measured(measured(bmm(), stopped="interrupted"))


def test_threads_are_shown_as_a_speed_up_over_one() -> None:
    slower = replace(bernoulli().counterfactuals[0], speedup=around(0.5))
    two = render_measured(measured(replace(bernoulli(), counterfactuals=(slower,))))
    assert " 2.00x  element" in two
    one = replace(bernoulli().wanted, threads=1)
    assert " 0.50x  element" in render_measured(
        measured(replace(bernoulli(), wanted=one, counterfactuals=(slower,)))
    )


def test_changes_not_tried_have_a_reason() -> None:
    left_out = (
        Untried("dtype", "f32→bf16", "products of bf16 are slower here than those of f32: 0.03x"),
        Untried("", "", "no time left"),
    )
    text = " ".join(render_measured(measured(replace(bmm(), untried=left_out))).split())
    assert (
        "not tried: f32→bf16 (products of bf16 are slower here than those of f32: 0.03x); any change" in text
    )


def test_missing_measurements_are_not_shown_as_numbers() -> None:
    bare = bmm(rotating=None, warm=None, bounds=(), verdict=Verdict("unjudged", "unjudged: no work model"))
    text = render_measured(measured(bare))
    assert "unjudged: no work model" in text
    assert "0 ns" not in text
    assert "0 %  unjudged" not in text


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
    (loss,) = document["losses"]
    assert loss["source"] == "bench"
    assert loss["remedy"] == "measure again: perfprobe bench"
    assert "Efficiency" not in Results(path).text(View(full=True))
