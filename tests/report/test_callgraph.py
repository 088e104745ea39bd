import contextlib
import html
import itertools
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from perfprobe.report.picture.callgraph import prune
from perfprobe.results import Results
from perfprobe.support.errors import EnvironmentLack, InputError, UsageError
from perfprobe.support.graph_view import GraphView
from tests import encoding
from tests.build import Program, op
from tests.report.test_untrusted import mutated

LINEAR = "/env/site-packages/torch/nn/modules/linear.py:125/124 Linear.forward"
ENGINE = "/env/site-packages/torch/autograd/graph.py:841/840 _engine_run_backward"
STEP = "/env/site-packages/torch/optim/adam.py:230/214 Adam.step"
MAIN, FORWARD, PREPARE = "p.py:12/10 main", "p.py:22/20 Net.forward", "p.py:32/30 prepare"

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")


def training() -> Program:
    """1000 ns of operators: 500 in forward, 400 in backward, 100 elsewhere."""
    program = Program(
        program={"argv": ["p.py"], "cwd": "/"}, stop={"monotonic_ns": 2000}, start={"monotonic_ns": 0}
    )
    program.thread(1)
    linear = program.stack(MAIN, FORWARD, LINEAR)
    forward = program.stack(MAIN, FORWARD)
    engine = program.stack(MAIN, ENGINE)
    prepare = program.stack(MAIN, PREPARE)
    matrix = program.signature("f32[64,128] f32[128,64]")
    start_ns = 0
    for name, took_ns, fields in (
        ("aten::addmm", 400, {"stack": linear, "sequence": 0, "signature": matrix}),
        ("aten::relu", 98, {"stack": forward}),
        ("aten::relu", 2, {"stack": forward, "signature": matrix}),
        ("aten::mm", 400, {"stack": engine, "node_sequence": 0, "node_thread": 1, "signature": matrix}),
        ("aten::rand", 80, {"stack": program.stack(MAIN)}),
        ("aten::zeros", 10, {"stack": prepare}),
        ("aten::ones", 7, {"stack": prepare}),
        ("aten::empty", 3, {"stack": prepare}),
    ):
        program.run(op(name, start_ns, start_ns + took_ns, **fields))
        start_ns += took_ns
    return program


def draw(program: Program, folder: Path, view: GraphView | None = None, kind: str = "dot") -> str:
    output = folder / f"graph.{kind}"
    Results(program.recording(folder).path).draw(str(output), view or GraphView())
    return output.read_text()


class Picture:
    """The content of a DOT text: nodes by the first line of their labels, title, legend."""

    def __init__(self, text: str, layout: str = "-Tjson0") -> None:
        done = subprocess.run(["dot", layout], input=text.encode(), capture_output=True, check=True)
        whole = json.loads(done.stdout)
        lines = re.sub(r"(<[^>]*>)+", "\n", whole["label"]).strip().split("\n")
        self.title, *legend = map(html.unescape, lines)
        self.legend = " ".join(legend)
        self.names = {node["_gvid"]: node["label"].split("\\n")[0] for node in whole["objects"]}
        self.nodes: dict[str, Any] = {self.names[node["_gvid"]]: node for node in whole["objects"]}
        self.edges = {
            (self.names[edge["tail"]], self.names[edge["head"]]): edge for edge in whole.get("edges", [])
        }

    def figures(self, name: str) -> str:
        return str(self.nodes[name]["label"].split("\\n")[-1])


@needs_dot
def test_nodes_and_edges_have_their_figures(tmp_path: Path) -> None:
    found = Picture(draw(training(), tmp_path, GraphView(min_node=1)))
    assert found.nodes["main"]["label"] == r"main\np.py:10\n100 %"
    assert found.nodes["addmm"]["label"] == r"addmm\nf32[64,128] f32[128,64]\n40.0 %  1×"
    assert found.nodes["mm · backward"]["label"] == r"mm · backward\nf32[64,128] f32[128,64]\n40.0 %  1×"
    assert found.edges["main", "Net.forward"]["label"] == "  90.0 %"
    assert ("Net.forward", "addmm") in found.edges  # Linear.forward only calls it
    assert ("Net.forward", "mm · backward") in found.edges
    assert found.title == "p.py · wall 2.00 us · call graph by operator time"
    assert "100 %: 1.00 us of operator time, forward and backward" in found.legend
    assert "operators in backward count where their forward call was made" in found.legend


@needs_dot
@pytest.mark.parametrize(("ended_ns", "sign"), [(500, "≥"), (2000, "")])
def test_partially_counted_calls_are_marked(tmp_path: Path, ended_ns: int, sign: str) -> None:
    program = training()
    program.meta["cprofile"] = {"ended_ns": ended_ns}
    program.call(
        program.counted("p.py:10 main", 1, 0, 0), program.counted("p.py:20 Net.forward", 7, 0, 0), 7, 0, 0
    )
    found = Picture(draw(program, tmp_path, GraphView(min_node=1)))
    assert found.figures("Net.forward") == f"90.0 %  {sign}7×"
    assert found.edges["main", "Net.forward"]["label"] == f"  90.0 %  {sign}7×"
    assert found.figures("addmm") == "40.0 %  1×"
    assert ("counted for the first 500 ns only" in found.legend) == bool(sign)


@needs_dot
def test_kinds_of_nodes_have_different_colors(tmp_path: Path) -> None:
    program = training()
    for name in ("mul_", "add_", "sqrt", "div_"):  # several children, so that Adam.step is not skipped
        program.run(op(f"aten::{name}", 1500, 1510, stack=program.stack(MAIN, STEP)))
    found = Picture(draw(program, tmp_path, GraphView(min_node=0)))
    looks = {
        name: (found.nodes[name]["style"], found.nodes[name]["color"])
        for name in ("main", "Adam.step", "addmm", "mm · backward")
    }
    assert len(set(looks.values())) == 3
    assert looks["addmm"] == looks["mm · backward"]
    red, _, blue = (found.nodes["mm · backward"]["fillcolor"][at : at + 2] for at in (1, 3, 5))
    assert blue > red  # violet
    red, _, blue = (found.nodes["addmm"]["fillcolor"][at : at + 2] for at in (1, 3, 5))
    assert red > blue


@needs_dot
def test_light_operators_share_a_node(tmp_path: Path) -> None:
    found = Picture(draw(training(), tmp_path, GraphView(min_node=1.5)))
    # zeros, ones and empty are 1 %, 0.7 % and 0.3 %. The relu of 0.2 % is left out, that of 9.8 % is shown.
    assert found.nodes["3 other operators"]["label"] == r"3 other operators\n2.0 %  3×"
    assert found.edges["prepare", "3 other operators"]
    assert found.figures("relu") == "9.8 %  1×"
    assert "left out: below 1.5 % (--min-node), or called from there only: 1 operator" in found.legend
    whole = Picture(draw(training(), tmp_path, GraphView(min_node=10)))
    assert whole.nodes["relu"]["label"] == r"relu\n2 signatures\n10.0 %  2×"
    assert set(whole.nodes) == {"main", "Net.forward", "addmm", "mm · backward", "relu"}
    assert (
        "left out: below 10 % (--min-node), or called from there only: 1 function and 4 operators"
        in whole.legend
    )


@needs_dot
@pytest.mark.parametrize(
    ("patterns", "depth", "expected"),
    [
        ({"root": "forward$"}, None, {"Net.forward", "addmm", "relu", "mm · backward"}),
        ({"leaf": "aten::zeros"}, None, {"main", "prepare", "zeros"}),
        ({"leaf": "backward$"}, None, {"main", "Net.forward", "mm · backward"}),
        ({"focus": "prepare"}, None, {"main", "prepare", "zeros", "ones", "empty"}),
        (
            {"root": "main", "leaf": r"f32\[64"},
            None,
            {"main", "Net.forward", "addmm", "mm · backward", "relu"},
        ),
        ({}, 1, {"main", "Net.forward", "prepare", "rand"}),
        ({"root": "main"}, 1, {"main", "Net.forward", "prepare", "rand"}),
    ],
)
def test_a_focus_draws_a_part_of_the_graph(
    tmp_path: Path, patterns: dict[str, str], depth: int | None, expected: set[str]
) -> None:
    view = GraphView(min_node=0, depth=depth, **patterns)
    assert set(Picture(draw(training(), tmp_path, view)).nodes) == expected


def test_a_focus_without_matches_is_an_error(tmp_path: Path) -> None:
    for patterns in ({"root": "nothing"}, {"root": "prepare", "leaf": "addmm"}, {"focus": "nothing"}):
        with pytest.raises(UsageError, match="matches no function and no operator"):
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
    assert found.figures("even") == "100 %"
    assert found.edges["even", "even"]["label"] == "  60.0 %"
    assert found.edges["even", "odd"]["label"] == "  40.0 %"
    assert found.edges["odd", "even"]["label"] == "  40.0 %"


@needs_dot
def test_operators_are_in_rows_sorted_by_weight(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    start_ns = 0
    for number in range(7):
        took_ns = 100 + (number * 3 % 7) * 10  # 100, 130, 160, 120, 150, 110, 140
        program.run(op(f"aten::op{took_ns}", start_ns, start_ns + took_ns, stack=program.stack(MAIN)))
        start_ns += took_ns
    nodes = Picture(draw(program, tmp_path, GraphView(min_node=0)), layout="-Tjson").nodes
    places = {name: tuple(map(float, node["pos"].split(","))) for name, node in nodes.items()}
    shown = sorted(
        (name for name in places if name != "main"), key=lambda name: (-places[name][1], places[name])
    )
    assert shown == [f"op{took_ns}" for took_ns in range(160, 90, -10)]


@needs_dot
def test_the_number_of_nodes_is_limited(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for number in range(200):
        stack = program.stack(MAIN, f"p.py:{number}/{number} f{number}")
        program.run(op("aten::add", number * 1000, number * 1000 + number + 1, stack=stack))
    found = Picture(draw(program, tmp_path))
    assert 2 < len(found.nodes) <= prune.LEGIBLE
    assert "as many as stay legible" in found.legend


@needs_dot
def test_of_many_equal_nodes_the_first_are_drawn(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    for number in range(200):
        program.sample(number * 10, number * 10 + 10, f"p.py:{number + 1}/{number} f{number}")
    found = Picture(draw(program, tmp_path))
    assert len(found.nodes) == prune.LEGIBLE
    assert set(found.nodes) == {f"f{number}" for number in range(prune.LEGIBLE)}
    assert "left out: all but the first 30 by share: 170 functions" in found.legend


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
    assert {name: found.figures(name) for name in found.nodes} == {
        "main": "100 % (60.0 %)",
        "hot": "20.0 % (20.0 %)",
    }


def test_too_many_nodes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "MOST", 5)
    with pytest.raises(UsageError, match="the graph would have 11 nodes; give a larger --min-node, or none"):
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
    assert labels.count(shown) == 3  # function, operator, signature
    assert f"{shown} · call graph by operator time" in [label.replace("\u200b", "") for label in labels]


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
