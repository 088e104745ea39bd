import contextlib
import html
import itertools
import random
import re
from pathlib import Path

import pytest

from perfprobe.report.picture.callgraph import prune
from perfprobe.results import Results
from perfprobe.support.errors import EnvironmentLack, InputError, UsageError
from perfprobe.support.graph_view import GraphView
from tests import encoding
from tests.build import Program, op
from tests.report.pictured import (
    FORWARD,
    LINEAR,
    MAIN,
    PREPARE,
    STEP,
    Picture,
    draw,
    is_violet,
    needs_dot,
    training,
)
from tests.report.test_untrusted import mutated
from tests.snapshots import Snapshot


@needs_dot
def test_boxes_rows_and_edges_have_their_figures(tmp_path: Path, snapshot: Snapshot) -> None:
    found = Picture(draw(training(), tmp_path, GraphView(min_node=1)))
    assert {title: (box.place, box.figures) for title, box in found.boxes.items()} == {
        "main": ("p.py:10", "100 %"),
        "Net.forward": ("p.py:20", "90.0 %"),
        "prepare": ("p.py:30", "2.0 %"),
    }
    assert found.boxes["Net.forward"].rows == {  # Linear.forward only calls one operator
        "addmm": ":22  f32[64,128] [128,64]  40.0 %  1×",
        "mm (backward)": ":22  f32[64,128] [128,64]  40.0 %  1×",
        "relu": ":22  9.8 %  1×",
    }
    assert found.edges == {("main", "Net.forward"): "", ("main", "prepare"): ""}
    snapshot(title=found.title, legend=found.legend, notes=found.notes)


@needs_dot
def test_an_edge_has_figures_if_its_box_has_several_callers(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for start_ns, took_ns, caller in ((0, 30, FORWARD), (100, 10, PREPARE)):
        stack = program.stack(MAIN, caller, "p.py:42/40 shared")
        program.run(op("aten::mm", start_ns, start_ns + took_ns, stack=stack))
    found = Picture(draw(program, tmp_path))
    assert found.boxes["shared"].figures == "100 %"
    assert found.edges == {
        ("main", "Net.forward"): "",
        ("main", "prepare"): "",
        ("Net.forward", "shared"): "75.0 %",
        ("prepare", "shared"): "25.0 %",
    }


@needs_dot
@pytest.mark.parametrize(("ended_ns", "sign"), [(500, "≥"), (2000, "")])
def test_partially_counted_calls_are_marked(tmp_path: Path, ended_ns: int, sign: str) -> None:
    program = training()
    program.meta["cprofile"] = {"ended_ns": ended_ns}
    program.call(
        program.counted("p.py:10 main", 1, 0, 0), program.counted("p.py:20 Net.forward", 7, 0, 0), 7, 0, 0
    )
    found = Picture(draw(program, tmp_path, GraphView(min_node=1)))
    assert found.boxes["Net.forward"].figures == f"90.0 % {sign}7×"
    assert found.boxes["Net.forward"].rows["addmm"].endswith("40.0 %  1×")
    assert ("counted for" in found.notes) == bool(sign)


@needs_dot
def test_kinds_of_nodes_have_different_colors(tmp_path: Path) -> None:
    program = training()
    for name in ("mul_", "add_", "sqrt", "div_"):  # several children, so that Adam.step is not skipped
        program.run(op(f"aten::{name}", 1500, 1510, stack=program.stack(MAIN, STEP)))
    text = draw(program, tmp_path, GraphView(min_node=0))
    pairs = re.findall("<TABLE ([^>]*) CELLBORDER[^>]*><TR><TD[^>]*><FONT[^>]*><B>([^<]*)", text)
    borders = {name: border for border, name in pairs}
    assert borders["main"] == borders["Net.forward"]
    assert "dashed" not in borders["main"]
    assert "dashed" in borders["Adam.step"]
    rows = Picture(text).boxes["Net.forward"].colors
    assert is_violet(rows["mm (backward)"])
    assert not is_violet(rows["addmm"])


@needs_dot
def test_colors_are_of_the_own_time_with_operators(tmp_path: Path) -> None:
    program = training()
    program.sample(0, 1000, MAIN, FORWARD)
    program.sample(1000, 1100, MAIN)
    found = Picture(draw(program, tmp_path, GraphView(by="operator")))
    reds = {title: shade(box.color) for title, box in found.boxes.items()}
    assert reds["main"] < reds["Net.forward"]  # 8 % below main itself, of 100 %; 90 % below forward
    by_row = {row: shade(color) for row, color in found.boxes["Net.forward"].colors.items()}
    assert by_row["relu"] < by_row["addmm"] < reds["Net.forward"]
    assert all(f"{share} %" in found.legend for share in (1, 5, 15, 30, 60))


def shade(color: str) -> int:
    """How far a colour is from white."""
    return 3 * 255 - sum(int(color[at : at + 2], 16) for at in (1, 3, 5))


@needs_dot
def test_light_operators_share_a_row(tmp_path: Path, snapshot: Snapshot) -> None:
    found = Picture(draw(training(), tmp_path, GraphView(min_node=1.5)))
    # zeros, ones and empty are 1 %, 0.7 % and 0.3 %. The relu of 0.2 % is left out, that of 9.8 % is shown.
    assert list(found.boxes["prepare"].rows.values()) == ["2.0 %  3×"]
    assert next(iter(found.boxes["prepare"].rows)).split()[2:] == ["zeros,", "ones,", "empty"]
    assert found.boxes["Net.forward"].rows["relu"] == ":22  9.8 %  1×"
    whole = Picture(draw(training(), tmp_path, GraphView(min_node=10)))
    assert whole.boxes["Net.forward"].rows["relu"] == ":22  2 signatures  10.0 %  2×"
    assert whole.names == {"main", "Net.forward", "addmm", "mm (backward)", "relu"}
    snapshot(of_one_percent=found.notes, of_ten_percent=whole.notes)


@needs_dot
@pytest.mark.parametrize(
    ("patterns", "depth", "expected"),
    [
        ({"root": "forward$"}, None, {"Net.forward", "addmm", "relu", "relu'", "mm (backward)"}),
        ({"leaf": "aten::zeros"}, None, {"main", "prepare", "zeros"}),
        ({"leaf": "backward$"}, None, {"main", "Net.forward", "mm (backward)"}),
        ({"focus": "prepare"}, None, {"main", "prepare", "zeros", "ones", "empty"}),
        (
            {"root": "main", "leaf": r"f32\[64"},
            None,
            {"main", "Net.forward", "addmm", "mm (backward)", "relu"},
        ),
        ({}, 1, {"main", "Net.forward", "prepare", "rand"}),
        ({"root": "main"}, 1, {"main", "Net.forward", "prepare", "rand"}),
    ],
)
def test_a_focus_draws_a_part_of_the_graph(
    tmp_path: Path, patterns: dict[str, str], depth: int | None, expected: set[str]
) -> None:
    view = GraphView(min_node=0, depth=depth, **patterns)
    assert Picture(draw(training(), tmp_path, view)).names == expected


def test_a_focus_without_matches_is_an_error(tmp_path: Path) -> None:
    for patterns in ({"root": "aten::mm"}, {"root": "prepare", "leaf": "addmm"}, {"focus": "nothing"}):
        with pytest.raises(UsageError, match="matches no function"):
            draw(training(), tmp_path, GraphView(**patterns))


@needs_dot
def test_recursion_is_drawn_as_circles(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    even, odd = "p.py:2/1 even", "p.py:5/4 odd"
    program.run(
        op("aten::add", 0, 60, stack=program.stack(even, even)),
        op("aten::add", 60, 100, stack=program.stack(even, odd, even, odd)),
    )
    found = Picture(draw(program, tmp_path))
    assert found.boxes["even"].figures == "100 %"
    assert found.edges == {("even", "even"): "60.0 %", ("even", "odd"): "", ("odd", "even"): "40.0 %"}


@needs_dot
def test_operators_are_in_rows_sorted_by_weight(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    start_ns = 0
    for number in range(7):
        took_ns = 100 + (number * 3 % 7) * 10  # 100, 130, 160, 120, 150, 110, 140
        program.run(op(f"aten::op{took_ns}", start_ns, start_ns + took_ns, stack=program.stack(MAIN)))
        start_ns += took_ns
    rows = Picture(draw(program, tmp_path, GraphView(min_node=0))).boxes["main"].rows
    assert [*rows] == [f"op{took_ns}" for took_ns in range(160, 90, -10)]
    assert [*Picture(draw(program, tmp_path)).boxes["main"].rows][5:] == ["op110", "op100"]
    program.run(op("aten::small", 5000, 5090, stack=program.stack(MAIN)))
    rows = Picture(draw(program, tmp_path)).boxes["main"].rows
    assert [name.split()[-2:] for name in [*rows][5:]] == [["op110"], ["op100,", "small"]]


@needs_dot
def test_the_number_of_nodes_is_limited(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for number in range(200):
        stack = program.stack(MAIN, f"p.py:{number}/{number} f{number}")
        program.run(op("aten::add", number * 1000, number * 1000 + number + 1, stack=stack))
    found = Picture(draw(program, tmp_path))
    assert 2 < len(found.boxes) <= prune.LEGIBLE
    assert "stay legible" in found.notes


@needs_dot
def test_of_many_equal_nodes_the_first_are_drawn(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for number in range(200):
        program.sample(number * 10, number * 10 + 10, f"p.py:{number + 1}/{number} f{number}")
    found = Picture(draw(program, tmp_path))
    assert set(found.boxes) == {f"f{number}" for number in range(16)}
    assert "first 16 by" in found.notes


@needs_dot
def test_unreachable_nodes_are_left_out(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    getter = "/env/site-packages/torch/_ops.py:9/8 OpOverload.__getattr__"
    hot = "/env/site-packages/torch/_ops.py:19/18 hot"
    for number in range(100):
        program.sample(
            0, 2, MAIN, f"p.py:{number}/{number} f{number}", getter, f"p.py:{number}/{number} g{number}"
        )
        program.sample(2, 4, MAIN, f"p.py:{number}/{number} f{number}", hot)
    program.sample(0, 600, MAIN)
    found = Picture(draw(program, tmp_path, GraphView(min_node=5)))
    assert {title: box.figures for title, box in found.boxes.items()} == {
        "main": "100 % own 60.0 %",
        "hot": "20.0 % own 20.0 %",
    }


def test_too_many_nodes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "MOST", 5)
    with pytest.raises(UsageError, match="would have 11 functions and operators; give a larger --min-node"):
        draw(training(), tmp_path, GraphView(min_node=0))


NAMES = [
    'a"b',
    "a\\nb",
    "back\\",
    "<b>bold</b>",
    "&amp;",
    "node",
    "{a|b}",
    "\x1b[31mred",
    "\N{BOMB}",
    "a\nb",
    "\\G",
]


@needs_dot
@pytest.mark.parametrize("name", NAMES)
def test_names_are_escaped(tmp_path: Path, name: str) -> None:
    program = Program(program={"argv": [name]})
    program.thread(1)
    program.row("frames", program.string(f"/{name}"), program.string(name), 1, 1)
    program.row("stacks", -1, 0, -1)
    program.run(op(name, 0, 100, stack=0, signature=program.signature(name)))
    text = draw(program, tmp_path, kind="svg")
    shown = name.replace("\n", " ").replace("\x1b", "\\x1b")
    labels = [html.unescape(label) for label in re.findall(r"<text[^>]*>([^<]*)</text>", text)]
    labels = [label.replace("\u200b", "") for label in labels]
    assert labels.count(shown) == 3  # function, operator, signature
    assert any(label.startswith(f"{shown} · ") for label in labels)


@needs_dot
def test_a_long_name_is_cut(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(op("x" * 50_000, 0, 100, stack=program.stack("p.py:1 " + "f" * 50_000)))
    assert len(draw(program, tmp_path)) < 10_000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("by", ["time", "operator", "calls"])
def test_damaged_data_with_a_correct_checksum(tmp_path: Path, seed: int, by: str) -> None:
    rng = random.Random(seed)
    program = training()
    program.sample(0, 600, MAIN, FORWARD, LINEAR)
    program.call(
        program.counted("p.py:10 main", 1, 0, 9), program.counted("p.py:20 Net.forward", 7, 0, 9), 7, 0, 9
    )
    good = [block[12:] for block in program.blocks(3)]
    path = tmp_path / "harmed.perfprobe"
    for _ in range(40):
        harmed = list(good)
        at = rng.randrange(len(harmed))
        harmed[at] = mutated(rng, harmed[at])
        encoding.replace(path, encoding.head() + b"".join(encoding.block(item) for item in harmed))
        with contextlib.suppress(InputError):
            Results(str(path)).draw(str(tmp_path / "graph.dot"), GraphView(by=by))


@pytest.mark.parametrize("ends_ns", [*itertools.permutations((10, 2**62, 2**63 - 1, -(2**63)), 3)])
def test_impossible_end_times(tmp_path: Path, ends_ns: tuple[int, int, int]) -> None:
    """Sums of such times overflowed, and a function that needed them was missing in the graph."""
    program = Program()
    first, second = (program.stack(MAIN, place) for place in (FORWARD, PREPARE))
    for name, stack, end_ns in zip(("mm", "add", "mul"), (first, second, second), ends_ns, strict=True):
        program.run(op(f"aten::{name}", 0, end_ns, stack=stack))
    with contextlib.suppress(InputError):  # if no time is left
        assert "%" in draw(program, tmp_path, GraphView(by="operator"))


def test_without_dot_a_dot_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLack, match=r"dot is not installed.*graph.dot.*apt install graphviz"):
        draw(training(), tmp_path, kind="png")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph {")
    assert not (tmp_path / "graph.png").exists()


@pytest.mark.parametrize("script", ["echo cannot >&2; exit 3", "kill -SEGV $$"])
def test_a_failing_dot_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (tmp_path / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLack, match=r"was not drawn .dot failed: "):
        draw(training(), tmp_path, kind="png")
    assert (tmp_path / "graph.dot").exists()


@needs_dot
@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_formats_of_pictures(tmp_path: Path, kind: str, magic: bytes) -> None:
    output = tmp_path / f"graph.{kind}"
    Results(training().recording(tmp_path).path).draw(str(output), GraphView())
    assert output.read_bytes().startswith(magic)


def test_an_unwritable_output_is_reported(tmp_path: Path) -> None:
    path = training().recording(tmp_path).path
    with pytest.raises(EnvironmentLack, match="the call graph cannot be written"):
        Results(path).draw(str(tmp_path / "missing" / "graph.dot"), GraphView())
