import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.tables.findings import HotModules, ModuleTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace
from tests.build import Program, op
from tests.found import find

SITE = "/env/lib/python3.12/site-packages"
ENGINE = f"{SITE}/torch/autograd/graph.py:841 _engine_run_backward"
CALL = f"{SITE}/torch/nn/modules/module.py:1779 Module._call_impl"
MAIN, TRAIN = "/p/train.py:20 main", f"{SITE}/trainer/loop.py:7 Trainer.train"
PHASES = ("other_ns", "forward_ns", "backward_ns", "recompute_ns")  # in the order of `Phase`


def rows(trace: Trace, times: ModuleTimes) -> dict[str, dict[str, Any]]:
    """Rows by path. The parent is given as its path."""
    paths = [trace.module(module) or "" for module in times.module.tolist()]
    made = {}
    for at, path in enumerate(paths):
        row = {name: column[at].item() for name, column in times.columns().items()}
        made[path] = {**row, "parent": paths[row["parent"]] if row["parent"] >= 0 else None}
    assert len(made) == len(times)
    return made


def test_by_hand(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    net = program.module("", "Net")
    layers = program.module("layers", "ModuleList", net)
    fc = program.module("fc", "Linear", program.module("0", "Block", layers))
    program.module("1", "Block", layers)  # in which nothing ran
    resize = program.module("", "Resize")
    fetch = f"{SITE}/torch/utils/data/_utils/fetch.py:52 fetch"
    own, in_fc = program.stack((MAIN, net)), program.stack((MAIN, net), (CALL, fc))
    engine = program.stack(MAIN, ENGINE)
    program.run(
        op("add", 0, 5, stack=own),
        op("linear", 10, 30, op("mm", 12, 28, stack=in_fc), stack=in_fc, sequence=0),
        op("mm_backward", 40, 70, stack=engine, node_sequence=0, node_thread=1),
        op("resize", 80, 90, stack=program.stack(fetch, (CALL, resize))),
        op("step", 90, 99, stack=program.stack(MAIN)),
    )
    trace = link(program.recording(tmp_path))
    found = find(trace, HotModules)[HotModules]
    brief = {
        path: [row[name] for name in ("parent", "calls", "total_ns", "own_ns", "forward_ns", "backward_ns")]
        for path, row in rows(trace, found.modules).items()
    }
    assert brief == {
        "Net": [None, 4, 55, 5, 25, 30],
        "layers": ["Net", 3, 50, 0, 20, 30],
        "layers.0": ["layers", 3, 50, 0, 20, 30],
        "layers.0.fc": ["layers.0", 3, 50, 50, 20, 30],
    }
    assert found.modules.gpu_self_ns.tolist() == [-1] * 4
    assert (found.line_frame, found.line_modules) == (program.frame(MAIN), 2)
    assert found.line_share == 64 / 74


@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_those_over_single_operators(tmp_path: Path, seed: int) -> None:
    """Each operator is counted in its module and in all modules around it."""
    rng = random.Random(seed)
    program = Program()
    program.thread(1)
    parent = {program.module("", "Net"): -1}
    for at in range(30):
        around = rng.choice(list(parent))
        parent[program.module(f"m{at}", "Part", around)] = around
    stacks = [-1, *(program.stack((f"/p/a.py:{module} f", module)) for module in parent)]
    start_ns = 0
    for _ in range(400):
        length = rng.randrange(1, 50)
        program.run(op(rng.choice("xyz"), start_ns, start_ns + length, stack=rng.choice(stacks)))
        start_ns += length
    trace = link(program.recording(tmp_path, 50))
    expected: dict[str, list[int]] = defaultdict(lambda: [0] * 7)
    for batch in trace.operators():
        for at in range(len(batch)):
            module, self_ns = int(batch.module[at]), int(batch.self_ns[at])
            if module >= 0:
                expected[trace.module_texts[module]][2] += self_ns
            while module >= 0:
                sums = expected[trace.module_texts[module]]
                sums[0] += 1
                sums[1] += self_ns
                sums[3 + Phase(batch.phase[at])] += self_ns
                module = parent[module]
    made = rows(trace, find(trace, HotModules)[HotModules].modules)
    names = ("calls", "total_ns", "own_ns", *PHASES)
    assert {path: [row[name] for name in names] for path, row in made.items()} == expected
    order = list(made)
    assert all(
        row["parent"] is None or order.index(row["parent"]) < order.index(path) for path, row in made.items()
    )


def library(
    folder: Path, package: str | None = None, focus: str | None = None
) -> tuple[tuple[str, ...], Any]:
    """The packages, and for each line its place, calls, and times in forward, backward and recomputation."""
    program = Program()
    program.thread(1)
    net = program.module("", "Net")
    forward = f"{SITE}/pkg/model.py:5 Net.forward"
    model = program.stack(MAIN, TRAIN, (CALL, net), forward)
    below = program.stack(
        MAIN, TRAIN, (CALL, net), forward, f"{SITE}/pkg/ops.py:3 gelu", f"{SITE}/torch/x.py:1 y"
    )
    engine = program.stack(MAIN, f"{SITE}/trainer/loop.py:9 Trainer.train", ENGINE)
    again = program.stack(MAIN, f"{SITE}/trainer/loop.py:9 Trainer.train", ENGINE, (CALL, net), forward)
    node = {"node_sequence": 0, "node_thread": 1}
    program.run(
        op("mm", 0, 10, stack=model),
        op("gelu", 10, 40, stack=below, sequence=0),
        op("gelu_backward", 40, 100, stack=engine, **node),
        op("mm", 100, 107, stack=again, **node),
        op("add_", 200, 203, stack=engine, node_sequence=-1, node_thread=1),
        op("zero_", 203, 204, stack=program.stack(MAIN, TRAIN)),
        op("range", 0, 300, scope=7, stack=model),
    )
    trace = link(program.recording(folder))
    found = find(trace, HotModules, package=package, focus=focus)[HotModules].library
    strings, lines = trace.recording[Strings], found.lines
    places = [trace.line(frame) for frame in lines.frame.tolist()]
    sums = zip(lines.calls.tolist(), lines.forward_ns.tolist(), lines.backward_ns.tolist(), strict=True)
    reported = [
        (f"{line.file.removeprefix(SITE)}:{line.line}", *figures, recompute_ns, strings[name])
        for line, figures, recompute_ns, name in zip(
            (line for line in places if line),
            sums,
            lines.recompute_ns.tolist(),
            lines.name.tolist(),
            strict=True,
        )
    ]
    return found.packages, reported


def test_lines_of_packages_that_define_the_model(tmp_path: Path) -> None:
    assert library(tmp_path) == (
        ("pkg",),
        [("/pkg/ops.py:3", 2, 30, 60, 0, "gelu_backward"), ("/pkg/model.py:5", 2, 10, 0, 7, "mm")],
    )


def test_lines_of_requested_packages(tmp_path: Path) -> None:
    """Of backward only what has a forward call there, as for lines of the program."""
    packages, lines = library(tmp_path, "trainer")
    assert packages == ("trainer",)
    assert [line[:4] for line in lines] == [("/trainer/loop.py:7", 5, 40, 60)]
    assert library(tmp_path, "trainer,pkg")[1][0][:2] == ("/pkg/ops.py:3", 2)
    assert library(tmp_path, "elsewhere") == (("elsewhere",), [])
    assert [line[0] for line in library(tmp_path, "torch")[1]] == [
        "/torch/x.py:1",
        "/torch/nn/modules/module.py:1779",
    ]


def test_lines_of_packages_in_focus(tmp_path: Path) -> None:
    assert [line[:2] for line in library(tmp_path, focus="^mm$")[1]] == [("/pkg/model.py:5", 2)]
