"""What is in the boxes of a call graph: lines of operators, measurements, chains of callers, names."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from perfprobe.results import Results
from perfprobe.support.graph_view import GraphView
from perfprobe.tables import measured_file
from perfprobe.tables.measurements import Bound, Estimate, Measurement, Measurements, Wanted
from tests.build import Program, op
from tests.report.pictured import MAIN, STEP, Picture, draw, needs_dot, training


@needs_dot
def test_operators_of_several_lines(tmp_path: Path) -> None:
    """Of 1000 ns, mm took 300 at line 11, 260 at 12, 20 at 13 and 20 at 14, and 400 elsewhere."""
    program = Program()
    program.thread(1)
    start_ns = 0
    for place, took_ns in (("11", 300), ("12", 260), ("13", 20), ("14", 20), ("90", 400)):
        name = "aten::mm" if took_ns < 400 else "aten::add"
        program.run(op(name, start_ns, start_ns + took_ns, stack=program.stack(f"p.py:{place}/10 main")))
        start_ns += took_ns
    found = Picture(draw(program, tmp_path, GraphView(min_node=3)))
    assert found.boxes["main"].rows == {
        "add": ":90  40.0 %  1×",
        "mm": ":11  30.0 %  1×",
        "mm'": ":12  26.0 %  1×",
        "mm''": ":13 +1 line  4.0 %  2×",
    }
    found = Picture(draw(program, tmp_path, GraphView(min_node=35)))
    assert found.boxes["main"].rows["mm"] == ":11 +3 lines  60.0 %  4×"


@needs_dot
def test_operators_of_a_library_have_the_line_of_the_program(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    program.run(
        op("aten::mul_", 0, 60, stack=program.stack(MAIN, STEP)),
        op("aten::add_", 60, 100, stack=program.stack("p.py:13/10 main", STEP)),
    )
    found = Picture(draw(program, tmp_path, GraphView(unfolded=True)))
    assert found.boxes["Adam.step"].rows == {"mul_": "p.py:12  60.0 %  1×", "add_": "p.py:13  40.0 %  1×"}
    found = Picture(draw(program, tmp_path, GraphView(unfolded=True, leaf="add_")))
    assert found.boxes["Adam.step"].place.split(" from ") == ["adam.py:214", "p.py:13"]
    assert found.boxes["Adam.step"].rows == {"add_": "40.0 %  1×"}


@needs_dot
def test_what_bench_measured_is_beside_the_operator(tmp_path: Path) -> None:
    recording = Path(training().recording(tmp_path).path)
    wanted = Wanted("aten::addmm", "f32[64,128] f32[128,64]")
    bounds = (Bound("gemm", Estimate(0.62, 0.6, 0.64), ""), Bound("memory", Estimate(0.2, 0.1, 0.3), ""))
    found, _ = Results(str(recording)).graph(GraphView())
    measured = Measurements("m", "2.4", str(recording), (Measurement(wanted, "cpu", "cpu", bounds=bounds),))
    identity = measured_file.identity(found.trace.recording)
    measured_file.write(measured_file.beside(str(recording)), measured, identity)
    Results(str(recording)).draw(str(tmp_path / "graph.dot"), GraphView())
    rows = Picture((tmp_path / "graph.dot").read_text()).boxes["Net.forward"].rows
    assert rows["addmm"].startswith(":22  f32[64,128] [128,64] at 62 %")
    assert "limit" not in rows["mm (backward)"]


@needs_dot
def test_chains_of_one_caller_are_one_box(tmp_path: Path) -> None:
    """main only calls train, which only calls step; of step's 1000 ns, 400 are in load."""
    program = Program()
    program.thread(1)
    path = MAIN, "p.py:22/20 train", "p.py:33/30 step"
    program.run(
        op("aten::mm", 0, 600, stack=program.stack(*path)),
        op("aten::add", 600, 1000, stack=program.stack(*path, "p.py:45/40 load")),
    )
    found = Picture(draw(program, tmp_path))
    chain = " > ".join(("main", "train", "step"))
    assert found.edges == {(chain, "load"): ""}
    box = found.boxes[chain]
    assert (box.place, box.figures, box.rows) == ("p.py:30", "100 %", {"mm": ":33  60.0 %  1×"})
    program.run(op("aten::add", 1000, 1030, stack=program.stack(MAIN)))  # 3 % in main itself
    assert set(Picture(draw(program, tmp_path)).boxes) == {"main", "train > step", "load"}


@needs_dot
def test_a_heavier_function_is_not_in_its_callers_box(tmp_path: Path) -> None:
    """Of 1000 ns in shared, 100 were called by step, the others by a hundred functions too light to draw."""
    program = Program()
    program.thread(1)
    for at in range(100):
        stack = program.stack(MAIN, f"p.py:{50 + at}/{50 + at} f{at}", "p.py:42/40 shared")
        program.run(op("aten::mm", 100 * at, 100 * at + 9, stack=stack))
    program.run(
        op("aten::mm", 20_000, 20_100, stack=program.stack(MAIN, "p.py:33/30 step", "p.py:42/40 shared"))
    )
    found = Picture(draw(program, tmp_path))
    assert {title: box.figures for title, box in found.boxes.items()} == {
        "main": "100 %",
        "step": "10.0 %",
        "shared": "100 %",
    }


def crowded(seed: int) -> Program:
    """A program of many functions with long names, called from everywhere, and of circles."""
    rng, program = random.Random(seed), Program(program={"argv": ["train.py"], "cwd": "/"})
    program.thread(1)
    most = rng.choice([5, 15, 40, 120])
    names = ["_".join(rng.choices(["forward", "Attention", "step", "Layer.call"], k=4)) for _ in range(most)]
    start_ns = 0
    for _ in range(rng.choice([50, 300])):
        chosen = rng.choices(range(most), k=rng.choice([1, 2, 3, 6]))
        folders = ["/env/site-packages/lib" if number % 2 else "/p" for number in chosen]
        stack = program.stack(
            *(
                f"{folder}/f{number}.py:{10 + rng.randrange(4)}/10 {names[number]}{number}"
                for folder, number in zip(folders, chosen, strict=True)
            )
        )
        took_ns = min(int(1000 * rng.paretovariate(0.8)), 10**7)
        name = rng.choice(["mm", "addmm", "native_batch_norm_backward", "mul"])
        signature = program.signature(f"f32[64,{rng.randrange(5)},32] f32[32,128]")
        program.run(op(f"aten::{name}", start_ns, start_ns + took_ns, stack=stack, signature=signature))
        start_ns += took_ns
    return program


@needs_dot
@pytest.mark.parametrize("seed", range(12))
def test_pictures_fit_a_page_and_add_up(tmp_path: Path, seed: int) -> None:
    found = Picture(text := draw(crowded(seed), tmp_path))
    done = subprocess.run(["dot", "-Tdot"], input=text.encode(), capture_output=True, check=True)
    across = float(re.findall(rb'bb="[^,]*,[^,]*,([^,]*),', done.stdout)[0]) * 96 / 72
    assert across <= 1200 * 1.1  # letters of 11 points are still legible
    done = subprocess.run(["dot", "-Tpng"], input=text.encode(), capture_output=True, check=True)
    assert int.from_bytes(done.stdout[16:20], "big") <= 1200
    for box in found.boxes.values():
        parts = [percent(text) for text in (*box.rows.values(), *re.findall("own .*", box.figures))]
        assert sum(parts) <= percent(box.figures.split(" own")[0]) + 0.1 * len(parts)


def percent(text: str) -> float:
    """The share in a text."""
    return float(re.findall(r"([\d.]+) %", text)[-1])


@needs_dot
def test_c_functions_have_short_names(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    main = program.counted("p.py:10 main", 1, 100, 900)
    for name in (
        "<method 'sqrt' of 'torch._C.TensorBase' objects>",
        "<built-in method torch.bmm>",
        "<lambda>",
    ):
        program.call(main, program.counted(name, 1, 200, 200), 1, 200, 200)
    found = Picture(draw(program, tmp_path))
    assert set(found.boxes) == {"main", "TensorBase.sqrt", "torch.bmm", "<lambda>"}


@needs_dot
def test_modules_are_named_by_what_is_imported(tmp_path: Path) -> None:
    program = Program(
        program={
            "argv": ["/home/me/run/train.py", "--data=/home/me/data", "/home/me/out"],
            "cwd": "/home/me/run",
        }
    )
    program.thread(1)
    script = "/home/me/run/train.py:3/1 <module>"
    start_ns = 0
    for path in (
        (script,),
        (script, "/home/me/run/data.py:9/1 <module>"),
        (script, "/home/me/run/parts/__init__.py:2/1 <module>"),
        (script, "/env/lib/python3.12/site-packages/torch/__init__.py:900/1 <module>"),
        (script, "/env/lib/python3.12/site-packages/torch/nn/modules/linear.py:900/1 <module>"),
        (script, "/env/lib/python3.12/json/decoder.py:2/1 <module>"),
    ):
        stack = program.stack(*path)
        for name in "abcd":
            program.run(op(f"aten::{name}", start_ns, start_ns + 10, stack=stack))
            start_ns += 10
    text = draw(program, tmp_path, GraphView(unfolded=True))
    assert set(Picture(text).boxes) == {
        "train.py",
        "import data",
        "import parts",
        "import torch",
        "import torch.nn.modules.linear",
        "import json.decoder",
    }
    assert "/home" not in text
    assert "/env" not in text
    assert Picture(text).title.split(" · ")[0].split() == ["train.py", "--data=data", "out"]
