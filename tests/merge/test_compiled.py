from pathlib import Path
from typing import Any

import pytest

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.report.render.text import render
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.trace import Phase
from tests.build import Program, op
from tests.found import find

TORCH = "/lib/site-packages/torch"
GENERATED = "/cache/ab/cab.py:90 Runner.call"


def traced(folder: Path, *frames: str) -> Phase:
    """The phase of an operator with this stack. Checks that its signature is left out only while tracing."""
    program = Program(roots={"inductor": ["/cache"]})
    program.thread(1)
    stack = program.stack("/home/me/train.py:3 main", *frames)
    program.run(op("aten::mul", 0, 5, stack=stack, signature=program.signature("f32[2]")))
    (rows,) = link(program.recording(folder)).operators()
    phase = Phase(int(rows.phase[0]))
    assert (int(rows.signature[0]) == -1) == (phase == Phase.COMPILE)
    return phase


def test_operators_below_a_compiler_are_tracing(tmp_path: Path) -> None:
    convert = f"{TORCH}/_dynamo/convert_frame.py:1633 _compile"
    assert traced(tmp_path, convert, f"{TORCH}/_subclasses/fake_tensor.py:7 dispatch") == Phase.COMPILE
    assert traced(tmp_path, f"{TORCH}/_inductor/compile_fx.py:2558 compile_fx_backward") == Phase.COMPILE


@pytest.mark.parametrize("owner", ["", "CachingAutotuner."])  # names in Python 3.10, and in newer versions
def test_autotuning_is_compiling(owner: str, tmp_path: Path) -> None:
    heuristics = f"{TORCH}/_inductor/runtime/triton_heuristics.py"
    run = f"{heuristics}:1407 {owner}run"
    for method in ("benchmark_all_configs", "coordinate_descent_tuning", "_combo_sequential_autotune"):
        assert traced(tmp_path, GENERATED, run, f"{heuristics}:9 {owner}{method}") == Phase.COMPILE
    assert traced(tmp_path, GENERATED, run) == Phase.OTHER
    triton = "/lib/site-packages/triton/runtime"
    tuner = f"{triton}/autotuner.py:212 {'Autotuner.' if owner else ''}"
    kernel = f"{triton}/jit.py:695 {'JITFunction.' if owner else ''}run"
    assert traced(tmp_path, f"{tuner}run", f"{tuner}_bench", kernel) == Phase.COMPILE
    assert traced(tmp_path, f"{tuner}run", kernel) == Phase.OTHER


def test_compiled_code_is_not_compiling(tmp_path: Path) -> None:
    assert traced(tmp_path, f"{TORCH}/_dynamo/eval_frame.py:10 compile_wrapper", GENERATED) == Phase.OTHER
    assert traced(tmp_path, f"{TORCH}/_inductor/compile_fx.py:9 run", GENERATED) == Phase.OTHER
    assert traced(tmp_path, "/home/me/_dynamo/convert_frame.py:9 mine") == Phase.OTHER
    imported = f"{TORCH}/_dynamo/convert_frame.py:61 <module>"  # by an optimizer
    assert traced(tmp_path, imported) == Phase.OTHER


def compiled_program(meta: Any) -> Program:
    program = Program(compiled=meta, roots={"inductor": ["/cache"]}, program={"cwd": "/work"})
    program.thread(1)
    stack = program.stack("/home/me/train.py:3 main", "/home/me/train.py:9 step", GENERATED)
    program.run(op("inductor::cpp_fused_add_0", 0, 5, stack=stack), op("aten::mul", 6, 8, stack=stack))
    return program


def findings(program: Program, folder: Path) -> Findings:
    trace = link(program.recording(folder))
    return find(trace, Hotspots)


def test_kernels_name_their_operators(tmp_path: Path) -> None:
    place = {"file": "/home/me/train.py", "line": 10, "function": "step"}
    made = {"inductor::cpp_fused_add_0": {"operators": ["add", "relu"], "lines": [place]}}
    found = findings(compiled_program(made), tmp_path)
    kernel, other = document(found)["tables"]["hotspots"]
    assert (kernel["made_from"], kernel["made_from_lines"]) == (["add", "relu"], [place])
    assert (other["made_from"], other["made_from_lines"]) == (None, None)
    assert (kernel["line"], kernel["function"]) == (9, "step")
    assert "made from add, relu" in render(found, width=200)


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [1],
        {"inductor::cpp_fused_add_0": 3},
        {"inductor::cpp_fused_add_0": {"operators": {"add": 1}, "lines": 7}},
        {"inductor::cpp_fused_add_0": {"operators": [None, 2], "lines": [None, {"file": "a"}]}},
        {"inductor::cpp_fused_add_0": {"lines": [{"file": "a", "line": "b", "function": 1}]}},
    ],
)
def test_malformed_meta_causes_no_error(tmp_path: Path, meta: Any) -> None:
    found = findings(compiled_program(meta), tmp_path)
    kernel = document(found)["tables"]["hotspots"][0]
    assert (kernel["made_from"], kernel["made_from_lines"]) == (None, None)
    assert "fused_add_0" in render(found, width=80)


def test_a_row_without_a_name_has_no_operators(tmp_path: Path) -> None:
    trace = findings(compiled_program({"aten::mul": {"operators": ["add"]}}), tmp_path).trace
    assert trace.made_from(-1) == ([], [])
