import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.report.rows.modules import ModuleRow
from perfprobe.report.section.listed import KINDS
from perfprobe.tables.columns import Combine
from perfprobe.tables.findings import ModuleTimes
from tests.build import Program, op
from tests.collect.runs import finish, start
from tests.found import find
from tests.report.declared import fields_of, known
from tests.report.test_text import META
from tests.snapshots import Snapshot

SITE = "/env/lib/python3.12/site-packages"
CALL = f"{SITE}/torch/nn/modules/module.py:1779 Module._call_impl"
ENGINE = f"{SITE}/torch/autograd/graph.py:841 _engine_run_backward"

LINES = {"attn": 12, "mlp": 13, "norm": 14}


def transformer(blocks: int = 12, main: int = 20) -> Program:
    """A model of a package, called on one or several lines of the program."""
    program = Program(**META)
    program.thread(1)
    net = program.module("", "Net")
    layers = program.module("layers", "ModuleList", program.module("backbone", "Backbone", net))
    head, at = program.module("head", "Linear", net), 0
    for block in range(blocks):
        layer = program.module(str(block), "Block", layers)
        around = f"/p/train.py:{main + block if main > 20 else main} main"
        for name, time_ns in (("attn", 30), ("mlp", 60), ("norm", 1)):
            module = program.module(name, name.title(), layer)
            where = f"{SITE}/pkg/model.py:{LINES[name]} Block.forward"
            stack = program.stack(around, (CALL, net), where, (CALL, module))
            program.run(op("aten::mm", at, at + time_ns, stack=stack, sequence=at))
            at += time_ns
    program.run(
        op("aten::mm", at, at + 8, stack=program.stack("/p/train.py:20 main", (CALL, head)), sequence=at)
    )
    engine = program.stack("/p/train.py:30 main", ENGINE)
    program.run(op("aten::mm_backward", at + 8, at + 108, stack=engine, node_sequence=at, node_thread=1))
    return program


def shown(program: Program, folder: Path, width: int = 100, **options: Any) -> list[str]:
    asked = {"package": options.pop("package", None), "focus": options.pop("focus", None)}
    lines = render(
        find(link(program.recording(folder)), *KINDS, **asked), width=width, **options
    ).splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(("Hot modules", "Lines of"))), None)
    return list(_until_section(lines[start:])) if start is not None else []


def _until_section(lines: list[str]) -> Iterator[str]:
    for at, line in enumerate(lines):
        if not line and not lines[at + 1].startswith("Lines of"):
            return
        yield line


def test_the_tree_of_modules_and_the_lines_of_its_package(tmp_path: Path, snapshot: Snapshot) -> None:
    lines = shown(transformer(), tmp_path)
    bars = [line.split() for line in lines if "█" in line or "▏" in line]
    assert [[bar[0], bar[7]] for bar in bars] == [["30.0", "12"], ["60.0", "13"], ["1.0", "14"]]
    snapshot("\n".join(lines))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_width(tmp_path: Path, width: int) -> None:
    program = transformer()
    deep = program.module("", "Net")
    for at in range(70):
        deep = program.module(f"part{at}", "Part", deep)
        stack = program.stack("/p/train.py:20 main", (CALL, deep))
        program.run(op("aten::mm", 3000 + at, 3001 + at, stack=stack))
    lines = shown(program, tmp_path, width, top=0)
    assert max(map(cell_len, lines)) <= width
    assert any("layers.* (12)" in line for line in lines)


def test_the_section_is_shown_only_if_one_line_has_most_of_the_time(tmp_path: Path) -> None:
    assert shown(transformer(), tmp_path)
    spread = transformer(main=100)
    assert shown(spread, tmp_path) == []
    assert shown(spread, tmp_path, package="pkg")
    assert document(find(link(spread.recording(tmp_path)), *KINDS))["tables"]["modules"]


def test_there_is_no_section_if_one_module_has_all_the_time(tmp_path: Path) -> None:
    program = Program(**META)
    program.thread(1)
    fc = program.module("fc", "Linear", program.module("", "Net"))
    program.run(op("aten::mm", 0, 9, stack=program.stack("/p/net.py:3 forward", (CALL, fc))))
    assert shown(program, tmp_path) == []


def test_an_unknown_package_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    text = render(find(link(transformer().recording(tmp_path)), *KINDS, package="elsewhere"))
    snapshot("\n".join(line for line in text.splitlines() if "elsewhere" in line))


def names(program: Program, folder: Path, **options: Any) -> list[str]:
    """The cells of the tree column."""
    title, *lines = shown(program, folder, **options)[1:]
    at, end = title.index("module"), title.index("class")
    return [line[at:end].rstrip() for line in lines[: lines.index("") if "" in lines else None]]


def test_the_number_of_rows(tmp_path: Path) -> None:
    """Modules with most time, each below its parents, in the order of the model."""
    assert names(transformer(), tmp_path, top=3) == ["Net", "  backbone.layers.* (12)", "    mlp"]
    assert len(names(transformer(), tmp_path, top=0)) == 6


def folded(folder: Path, *parts: tuple[str, str, tuple[str, ...]]) -> list[str]:
    """The tree of a model with these parts: name, class, and names of their parts."""
    program = Program(**META)
    program.thread(1)
    net, at = program.module("", "Net"), 0
    for name, kind, inner in parts:
        part = program.module(name, kind, net)
        for module in [program.module(own, "Linear", part) for own in inner] or [part]:
            program.run(op("aten::mm", at, at + 9, stack=program.stack("/p/a.py:1 f", (CALL, module))))
            at += 9
    return names(program, folder, top=0)


def test_equal_layers_are_folded(tmp_path: Path) -> None:
    assert folded(tmp_path, ("0", "Conv", ()), ("1", "ReLU", ()), ("2", "Conv", ())) == [
        "Net",
        "  0",
        "  1",
        "  2",
    ]
    blocks = [(str(at), "Block", ("a", "b") if at == 2 else ("a",)) for at in (1, 2, 3)]
    assert folded(tmp_path, ("0", "Stem", ()), *blocks) == ["Net", "  0", "  1-3 (3)", "    a", "    b (1)"]
    assert folded(tmp_path, ("left", "Conv", ()), ("right", "Conv", ())) == ["Net", "  left", "  right"]
    assert folded(tmp_path, *[(str(at), "Experts", ("0", "1", "2")) for at in (0, 1)]) == ["Net", "  *.* (6)"]


def test_json_has_the_whole_tree(tmp_path: Path) -> None:
    tables = document(find(link(transformer().recording(tmp_path)), *KINDS), top=1)["tables"]
    assert len(tables["modules"]) == 52
    assert list(tables["modules"][-1]) == fields_of(ModuleRow, figures=ModuleTimes.combined(Combine.SUM))
    assert known(tables["modules"][-1]) == {
        "module": "head",
        "parent": "Net",
        "type": "Linear",
        "calls": 2,
        "total_ns": 108,
        "own_ns": 108,
        "forward_ns": 8,
        "backward_ns": 100,
        "recompute_ns": 0,
        "other_ns": 0,
        "share": 108 / 1200,
    }
    (line,) = tables["library_lines"]
    assert (line["file"], line["line"], line["self_ns"]) == (f"{SITE}/pkg/model.py", 13, 720)


MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        weights = (self.query(x) @ x.transpose(-2, -1)).softmax(-1)  # attends
        return x + self.mlp(weights @ x)


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.ModuleList(Block(width) for _ in range(4))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
TRAINER = """\
import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)

    def train(self):
        for _ in range(3):
            self.model(torch.ones(8, 16, 64)).sum().backward()
            self.optimizer.step()
"""
PROGRAM = """\
import os, sys
sys.path.insert(0, os.path.abspath("site-packages"))
import torch
torch.set_num_threads(1)
from pkg.model import Net
from trainer import Trainer
Trainer(Net()).train()
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """The report at 80 columns and the JSON of a program that only calls a trainer of a package."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("trained")
    (folder / "site-packages" / "pkg").mkdir(parents=True)
    (folder / "site-packages" / "pkg" / "model.py").write_text(MODEL)
    (folder / "site-packages" / "trainer.py").write_text(TRAINER)
    (folder / "train.py").write_text(PROGRAM)
    words = ["-m", "perfprobe", "--full", "-o", "a.perfprobe", "--json", "a.json", "train.py"]
    outcome = finish(start(words, folder, {"COLUMNS": "80"}))
    return outcome.err.decode(), json.loads((folder / "a.json").read_text())


def test_a_trainer_and_a_model_of_packages(trained: tuple[str, dict[str, Any]]) -> None:
    text, found = trained
    section = text[text.index("Hot modules") : text.index("Python functions")]
    assert "train.py:7 has" in section
    tree = section[: section.index("Lines of pkg")].splitlines()
    assert [line.split()[-2:] for line in tree if line.endswith("GELU")] == [["1", "GELU"]]
    assert "layers.* (4)" in section
    assert "pkg/model.py\n" in section
    assert "weights = (self.query(x)" in section
    attends = MODEL[: MODEL.index("# attends")].count("\n") + 1
    lines = {(Path(row["file"]).name, row["line"]): row for row in found["tables"]["library_lines"]}
    assert lines["model.py", attends]["backward_ns"] > 0
    assert {file for file, _ in lines} == {"model.py"}


def test_its_sums_equal_those_of_the_operators(trained: tuple[str, dict[str, Any]]) -> None:
    """By module paths only: of a path and of all paths that begin with it."""
    tables = trained[1]["tables"]
    parts = [
        (part["module"], part["self_ns"], row["phase"])
        for row in tables["hotspots"]
        for part in row["modules"]
    ]
    assert len(tables["modules"]) == 1 + 1 + 4 * 6 + 1
    for module in tables["modules"]:
        path = module["module"]
        inside = [
            (self_ns, phase)
            for name, self_ns, phase in parts
            if name is not None and (path == "Net" or f"{name}.".startswith(f"{path}."))
        ]
        assert module["total_ns"] == sum(self_ns for self_ns, _ in inside)
        assert module["forward_ns"] == sum(self_ns for self_ns, phase in inside if phase == "forward")
        assert module["backward_ns"] == sum(self_ns for self_ns, phase in inside if phase == "backward")
        assert module["own_ns"] == sum(self_ns for name, self_ns, _ in parts if name == path)
