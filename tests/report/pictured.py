"""Call graphs as their readers see them: boxes with rows, edges, legend and notes of a DOT text."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfprobe.results import Results
from perfprobe.support.graph_view import GraphView
from tests.build import Program, op

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


class Box:
    """The box of a function: its title, place and figures, and the rows of operators in it."""

    def __init__(self, label: str) -> None:
        head, *rows = ElementTree.fromstring(label).findall("TR")
        cells = head.findall("TD")
        self.title = " ".join("".join(name.itertext()) for name in cells[0].findall("FONT[@POINT-SIZE]"))
        self.place = " ".join(" ".join(lines(cells[0])).removeprefix(self.title).split())
        self.figures = " ".join(line for cell in cells[1:] for line in lines(cell))
        self.color = cells[0].attrib["BGCOLOR"]
        self.rows: dict[str, str] = {}
        self.colors: dict[str, str] = {}
        for row in rows:
            name, *others = (" ".join(lines(cell)) for cell in row.findall("TD"))
            color = row[0].attrib["BGCOLOR"]
            name += " (backward)" if is_violet(color) else ""
            assert name not in self.rows or others != [self.rows[name]]
            while name in self.rows:
                name += "'"
            self.rows[name] = "  ".join(text for text in others if text)
            self.colors[name] = color


def lines(cell: ElementTree.Element) -> list[str]:
    """The lines of a cell, as a reader sees them."""
    text = ElementTree.tostring(cell, encoding="unicode").replace("<BR", "\n<BR")
    shown = "".join(ElementTree.fromstring(text).itertext()).replace("\u200b", "")
    return [line for line in shown.split("\n") if line]


def texts(label: str) -> list[str]:
    """The texts of a label of HTML."""
    parts = re.split(r"</?T[RD][^>]*>|<BR[^>]*>", label)
    return [text for part in parts if (text := html.unescape(re.sub("<[^>]*>", "", part)))]


def is_violet(color: str) -> bool:
    red, _, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return blue > red


class Picture:
    """The content of a DOT text: boxes by their titles, edges, title, legend and notes."""

    def __init__(self, text: str, layout: str = "-Tjson0") -> None:
        done = subprocess.run(["dot", layout], input=text.encode(), capture_output=True, check=True)
        whole = json.loads(done.stdout)
        self.title, *legend = texts(whole["label"])
        self.legend = " ".join(legend)
        self.notes = " ".join(texts(whole["objects"][0]["label"]))
        self.raw = {node["_gvid"]: node for node in whole["objects"] if "nodes" not in node}
        boxes = {number: Box(node["label"]) for number, node in self.raw.items()}
        self.boxes = {box.title: box for box in boxes.values()}
        self.places = {boxes[number].title: node.get("pos", "") for number, node in self.raw.items()}
        self.edges = {
            (boxes[tail].title, boxes[head].title): edge.get("label", "").strip()
            for edge in whole.get("edges", [])
            for tail, head in [(edge["tail"], edge["head"])[:: -1 if edge.get("dir") == "back" else 1]]
            if edge.get("style") != "invis"
        }

    @property
    def names(self) -> set[str]:
        """The functions and the operators."""
        return {*self.boxes, *(row for box in self.boxes.values() for row in box.rows)}
