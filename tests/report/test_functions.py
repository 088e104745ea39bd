"""The table of Python functions, with findings written by hand."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Shown, Table
from perfprobe.report.section.functions import functions
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, FunctionRows, Origin
from tests.build import Program, op
from tests.report.calling import Made
from tests.report.test_text import META
from tests.snapshots import Snapshot

MS = 1_000_000
SECOND = 1000 * MS


TIMES = ("own_ns", "total_ns", "neither_ns", "operator_calls", "operator_own_ns", "operator_total_ns")
COUNTS = ("calls", "primitive_calls", "counted_own_ns", "counted_total_ns")


def figures(names: Sequence[str], *values: int) -> dict[str, int]:
    return dict(zip(names, values, strict=False))


def sampled() -> Made:
    """One thread for a second: 200 samples of 5 ms."""
    program = Program(**{**META, "stop": {"monotonic_ns": SECOND, "cpu_ns": SECOND}})
    program.thread(1, "MainThread")
    made = Made(program)
    made.samples = [{"start_ns": 0, "end_ns": SECOND, "thread": 0, "stack": 0, "look": 0, "looks": 200}]
    half, most, few = 500 * MS, 280 * MS, 20 * MS
    tokenize = figures(TIMES, half, half, half, 0, 0, 0)
    made.function("/p/text.py:12 tokenize", looks=100, cpu_ns=490 * MS, calls=12_345, **tokenize)
    relu = figures(TIMES, most + few, most + few, few, 10, most, most)
    relu_place = "/env/site-packages/torch/nn/functional.py:7 relu"
    made.function(relu_place, origin=Origin.TORCH, looks=60, calls=10, **relu)
    walk = figures(TIMES, 0, SECOND, 0, 0, 0, most) | figures(COUNTS, 9, 2)
    made.function("/p/train.py:3 walk", **walk)
    array = figures(COUNTS, 4, 4, 400 * MS, 410 * MS)
    made.function("<built-in method numpy.array>", origin=Origin.LIBRARY, **array)
    wall = {"wall_ns": SECOND, "own_ns": 980 * MS, "no_python_ns": 0, "failed_ns": 5 * MS}
    made.threads = [{"thread": 0, **wall}]
    return made


def shown(found: Findings, **options: Any) -> list[str]:
    lines = render(found, **options).splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("Python functions")), None)
    return [] if start is None else lines[start : lines.index("", start)]


def test_the_table_of_functions(tmp_path: Path, snapshot: Snapshot) -> None:
    text = shown(sampled().findings(tmp_path))
    (wall,) = [line for line in text if line.startswith("MainThread: wall")]
    assert sum(float(share) for share in re.findall(r"([\d.]+) %", wall)) == pytest.approx(100)
    snapshot("\n".join(text))


def first(found: Findings, **options: Any) -> str:
    return shown(found, **options)[2]


def test_sorting_and_number_of_rows(tmp_path: Path, snapshot: Snapshot) -> None:
    found = sampled().findings(tmp_path)
    assert "tokenize" in first(found, sort="mean")
    assert "walk" in first(found, sort="total")
    assert "tokenize" in first(found, sort="calls")
    two = shown(found, top=2)
    assert not any("walk" in line for line in two)
    snapshot("\n".join([shown(found, sort="total")[0], two[0]]))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_lines_fit_the_width(tmp_path: Path, width: int) -> None:
    text = shown(sampled().findings(tmp_path), width=width)
    assert max(map(cell_len, text)) <= width
    for place in ("text.py:12", "functional.py:7", "train.py:3"):
        assert any(place in line for line in text)


def test_notes_refer_to_shown_rows(tmp_path: Path) -> None:
    (table,) = [
        block for block in functions(sampled().findings(tmp_path), Choice()) if isinstance(block, Table)
    ]
    every = [column.title for column in table.columns]
    about = {"ncalls": "ncalls: ", "all ops": "all ops: ", "own ops": "own ops: ", "non-ops": "non-ops: "}
    for title, start in about.items():
        assert start in " ".join(table.notes(Shown(every)))
        assert start not in " ".join(table.notes(Shown([each for each in every if each != title])))


def test_counts_of_a_part_of_the_run_are_marked(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.counts_end_ns = 250 * MS
    facts = {"reason": "too\x1b costly", "library_imports": "not counted"}
    escaped = "\n".join(shown(made.findings(tmp_path, cprofile=facts)))
    for part in (" 12,345+ ", " 9/2+ ", "(40.0 %+) ", "(400 ms+) "):
        assert part in escaped
    facts["reason"] = "too costly"
    known = shown(made.findings(tmp_path, cprofile=facts))
    snapshot(escaped, known_reason="\n".join(known[6:]))


def test_times_by_cprofile_say_that_imports_are_included(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.by_samples = False
    without, within = (
        "\n".join(shown(made.findings(tmp_path, cprofile={"library_imports": told}))[6:])
        for told in ("not counted", "counted")
    )
    snapshot(not_counted=without, counted=within)


def test_c_functions_shown_better_elsewhere_are_left_out(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.function("<built-in method torch.relu>", origin=Origin.TORCH, calls=9, counted_own_ns=SECOND)
    made.function("<built-in method builtins.exec>", origin=Origin.STDLIB, calls=9, counted_own_ns=SECOND)
    text = "\n".join(shown(made.findings(tmp_path)))
    assert "torch.relu" not in text
    assert "exec" not in text
    made.by_samples = False
    for row in made.rows:
        row["own_ns"] = row.get("counted_own_ns", 0)
    snapshot(samples=text.splitlines()[0], cprofile=shown(made.findings(tmp_path))[0])


@pytest.mark.parametrize(
    ("origin", "of_tokenize_ms", "left_out"),
    [(Origin.STDLIB, 499, True), (Origin.LIBRARY, 499, False), (Origin.STDLIB, 300, False)],
    ids=["explained", "of a library", "of two callers"],
)
def test_c_functions_explained_by_their_caller_are_left_out(
    tmp_path: Path, snapshot: Snapshot, origin: Origin, of_tokenize_ms: int, left_out: bool
) -> None:
    made = sampled()
    sleep = made.function(
        "<built-in method sleep>", origin=origin, **figures(COUNTS, 4, 4, 499 * MS, 499 * MS)
    )
    made.edges = [
        {"caller": 0, "callee": sleep, "calls": 3, "counted_total_ns": of_tokenize_ms * MS},
        {"caller": 1, "callee": sleep, "calls": 1, "counted_total_ns": (499 - of_tokenize_ms) * MS},
    ]
    found = made.findings(tmp_path)
    text = "\n".join(shown(found))
    assert ("method sleep" in text) != left_out
    assert "numpy.array" in text
    assert any("method sleep" in row["function"] for row in document(found)["tables"]["functions"])
    snapshot(text)


def test_cprofile_shows_functions_without_samples(tmp_path: Path) -> None:
    made = sampled()
    made.function("<built-in method len>", origin=Origin.STDLIB, **figures(COUNTS, 4, 4, 2 * MS, 2 * MS))
    assert any("(0.2 %)" in line for line in shown(made.findings(tmp_path)))
    assert any("(2.00 ms)" in line for line in shown(made.findings(tmp_path)))


def test_threads_are_shown_by_name(tmp_path: Path) -> None:
    made = sampled()
    made.program.thread(2, "loader")
    made.program.thread(3, "MainThread")
    made.program.thread(4, "python3")
    made.threads = [{"thread": at, "wall_ns": SECOND, "own_ns": SECOND} for at in range(4)]
    meta = {"program": {**META["program"], "pid": 1001}, "python_threads": {"1004": "feeder"}}
    assert [line.partition(":")[0] for line in shown(made.findings(tmp_path, **meta))[-4:]] == [
        *("main thread", "loader", "thread 1003", "feeder")
    ]


def test_times_beyond_the_wall_time(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.threads[0] |= {"own_ns": 1010 * MS, "failed_ns": 0}
    snapshot(shown(made.findings(tmp_path))[-1])


def test_the_focus_limits_the_rows(tmp_path: Path, snapshot: Snapshot) -> None:
    found = sampled().findings(tmp_path)
    found = Findings(found.trace, found[CallStructure], focus="text.py:12 in tok")
    assert [row["function"] for row in document(found)["tables"]["functions"]] == ["tokenize"]
    snapshot("\n".join(shown(found)))
    found = Findings(found.trace, found[CallStructure], focus="nothing")
    assert shown(found) == []  # no table without rows


def counted() -> Made:
    """cProfile only: 600 ms in a second, and a million calls."""
    made = Made(Program(**{**META, "stop": {"monotonic_ns": SECOND, "cpu_ns": SECOND}}), by_samples=False)
    made.program.thread(1)
    tokenize = figures(COUNTS, 999_996, 999_996, 600 * MS, 700 * MS) | figures(TIMES, 600 * MS, 700 * MS)
    made.function("/p/text.py:12 tokenize", **tokenize)
    made.function("<built-in method numpy.array>", origin=Origin.LIBRARY, calls=4, own_ns=0, counted_own_ns=0)
    made.threads = [{"thread": 0, "wall_ns": SECOND, "own_ns": 600 * MS}]
    return made


def test_the_table_with_cprofile_only(tmp_path: Path, snapshot: Snapshot) -> None:
    facts = {"estimated_ns": 200_000_000.0, "calls": 999_996, "c_calls": 4}
    snapshot("\n".join(shown(counted().findings(tmp_path, cprofile=facts), width=200)))


def test_the_table_with_partial_counts_only(tmp_path: Path, snapshot: Snapshot) -> None:
    made = counted()
    made.counts_end_ns = 500 * MS
    snapshot("\n".join(shown(made.findings(tmp_path, cprofile={"reason": "tracer"}))))


def test_counts_of_a_killed_program_are_marked(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.counts_end_ns = 500 * MS
    found = made.findings(tmp_path, stop=None, cprofile={"counted_until_ns": 500 * MS})
    snapshot("\n".join(shown(found)))


def test_the_table_with_samples_only(tmp_path: Path) -> None:
    made = Made(Program(**META))
    made.samples = [{"start_ns": 0, "end_ns": 10 * MS, "looks": 10}]
    made.function("/p/text.py:12 tokenize", own_ns=2 * MS, total_ns=2 * MS, neither_ns=2 * MS)
    text = shown(made.findings(tmp_path))
    assert text[1].split() == ["of", "wall", "tottime", "cumtime", "code", "function"]
    assert "ncalls" not in "".join(text)


def test_few_samples_are_noted(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    whole = {"start_ns": 0, "end_ns": SECOND, "thread": 0, "stack": 0, "look": 0, "looks": 5}
    made.samples = [whole]
    five = shown(made.findings(tmp_path, stop={"monotonic_ns": 100 * MS}))
    assert "<100 %" in " ".join(five)
    made.samples = [whole | {"looks": 4}]
    four = shown(made.findings(tmp_path, stop={"monotonic_ns": MS}))
    assert [line.split()[-1] for line in four[1:3]] == ["function", "numpy.array>"]
    assert "samples" not in " ".join(four)
    made.counts_end_ns = MS // 2
    found = made.findings(tmp_path, stop={"monotonic_ns": MS})
    assert "Hottest Python" not in render(found)
    snapshot(five="\n".join(five), four="\n".join(four), four_and_counts_of_a_part="\n".join(shown(found)))


def test_no_table_if_only_operators_were_recorded(tmp_path: Path) -> None:
    made = Made(Program(**META), by_samples=False)
    made.function("/p/text.py:12 tokenize", operator_calls=3, operator_own_ns=5)
    assert shown(made.findings(tmp_path)) == []


def test_without_wall_time_there_are_no_shares(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.threads[0]["wall_ns"] = -1
    text = "\n".join(shown(made.findings(tmp_path, start=None)))
    assert "wall" not in text
    snapshot(text)


def test_functions_of_several_threads(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.threads *= 4
    for name in ("own_ns", "total_ns", "neither_ns"):
        made.rows[0][name] = 1960 * MS
    made.sampled[0] |= {"time_ns": 1960 * MS, "cpu_ns": 1900 * MS}
    text = shown(made.findings(tmp_path))
    assert [line[:10].strip() for line in text[1:4]] == ["of all", "50.0 %", "(10.2 %)"]
    snapshot("\n".join(text), summary=summary(made, tmp_path))


def test_only_the_largest_of_many_threads_are_shown(tmp_path: Path, snapshot: Snapshot) -> None:
    made = sampled()
    made.threads *= 6
    last = shown(made.findings(tmp_path))[-5:]
    assert sum(line.startswith("MainThread") for line in last) == 4
    snapshot("\n".join(last))


def test_hostile_names_and_figures(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e" + "long_" * 200
    made = Made(Program(**META), counts_end_ns=-(2**62))
    made.program.thread(1, evil)
    most = 2**63 - 1
    every = {name: most for name in FunctionRows.dtypes if name != "code"}
    made.function(f"{evil}:{2**31 - 1} {evil}", **every)
    made.function(f"<{evil}", **every)
    made.threads = [{"thread": 0, "wall_ns": 1, "own_ns": most}, {"thread": 77, "wall_ns": most}]
    found = made.findings(tmp_path, cprofile=evil)
    for width in (40, 80, 200):
        text = "\n".join(shown(found, width=width))
        assert "\x1b" not in text
        assert "\u202e" not in text
    json.dumps(document(found), allow_nan=False)


def summary(made: Made, folder: Path) -> str:
    return " ".join(render(made.findings(folder)).split("\n\n")[0].splitlines())


def test_the_headline_names_the_hottest_function(tmp_path: Path, snapshot: Snapshot) -> None:
    snapshot(summary(sampled(), tmp_path))
    made = sampled()
    made.sampled[0]["time_ns"] = 99 * MS
    assert "Hottest Python" not in summary(made, tmp_path)
    made = sampled()
    made.sampled[0]["cpu_ns"] = MS  # it was waiting
    assert "Hottest Python" not in summary(made, tmp_path)


def hottest(program: Program, folder: Path) -> str:
    """What the report says of the hottest Python function."""
    text = Results(program.recording(folder).path).text(View(full=True), width=200)
    return "\n".join(line for line in text.splitlines() if line.startswith("Hottest Python"))


def test_waiting_functions_are_not_the_hottest(tmp_path: Path, snapshot: Snapshot) -> None:
    meta = {**META, "stop": {"monotonic_ns": SECOND}, "program": {"argv": ["p.py"], "pid": 1001}}
    program = Program(**meta)
    program.thread(1, "p")
    program.thread(2, "feeder")
    for thread, start_ms, end_ms, cpu_ms, frames in (
        (0, 0, 300, 0, ("/p/p.py:3/2 sleeper", "/env/site-packages/threads.py:9/8 wait")),
        (0, 300, 600, 1, ("/p/p.py:4/2 sleeper",)),
        (0, 600, 1000, 400, ("/p/p.py:8/7 work",)),
        (1, 0, 1000, 0, ("/p/p.py:12/11 feed",)),
    ):
        looks = {"looks": 9, "cpu_ns": cpu_ms * MS}
        program.sample(start_ms * MS, end_ms * MS, *frames, thread=thread, **looks)
    shown = {"waiting": hottest(program, tmp_path)}
    program.run(op("aten::mm", 0, 101 * MS))
    shown["with an operator"] = hottest(program, tmp_path)
    looks = {"looks": 9, "cpu_ns": 300 * MS}
    program.sample(1000 * MS, 1300 * MS, "/p/p.py:8/7 work", thread=0, **looks)
    program.meta["stop"] = {"monotonic_ns": 1300 * MS}
    shown["working"] = hottest(program, tmp_path)
    snapshot(**shown)


def test_operators_can_be_hotter_than_python(tmp_path: Path) -> None:
    made = sampled()
    made.program.run(op("aten::mm", 0, 501 * MS))
    assert "Hottest: mm" in summary(made, tmp_path)
    assert "Hottest Python" not in summary(made, tmp_path)
