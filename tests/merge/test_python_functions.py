"""Time in Python code called by autograd belongs to Python. Compiled nodes compile in their first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.models.nodes import is_python_node
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase
from tests.build import Op, Program, op
from tests.found import hotspots
from tests.snapshots import Snapshot

ENGINE = "/env/site-packages/torch/autograd/graph.py:841 _engine_run_backward"
APPLY = "/env/site-packages/torch/autograd/function.py:585 Function.apply"
COMPILER = "/env/site-packages/torch/_inductor/compile_fx.py:2000 compile_fx"


def times(program: Program, folder: Path, block_rows: int = 3600) -> dict[str, list[tuple[int, int, str]]]:
    """Self time, Python time and phase of calls by name, in the order of their ends."""
    trace = link(program.recording(folder, block_rows))
    rows = LinkedOperators.concat(list(trace.operators()))
    found: dict[str, list[tuple[int, int, str]]] = {}
    for name, *own, phase in zip(
        rows.name.tolist(), rows.self_ns.tolist(), rows.python_ns.tolist(), rows.phase.tolist(), strict=True
    ):
        found.setdefault(trace.recording[Strings][name], []).append((*own, Phase(phase).name.lower()))
    return found


def test_time_of_a_function_outside_operators_is_python_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    main, inside = program.stack("train.py:5 main"), program.stack("train.py:5 main", APPLY)
    engine, node = program.stack("train.py:6 main", ENGINE), {"node_thread": 1, "node_sequence": 0}
    program.run(
        op("Scale", 0, 100, op("aten::mul", 10, 30), op("detach", 90, 95), stack=inside, sequence=0),
        op("made_in_cpp", 100, 200, stack=main),
        op(
            "autograd::engine::evaluate_function: ScaleBackward",
            200,
            300,
            op("ScaleBackward", 210, 290, op("aten::mul", 220, 230, stack=engine, **node), scope=1, **node),
            stack=engine,
            **node,
        ),
        op("MulBackward0", 300, 340, scope=1, stack=engine, **node),
        op("torch::autograd::CppNode<Own>", 340, 350, scope=1, stack=engine, **node),
    )
    found = times(program, tmp_path)
    assert found["Scale"] == [(0, 75, "forward")]
    assert found["ScaleBackward"] == [(0, 70, "backward")]
    assert [row[:2] for row in found["aten::mul"]] == [(20, -1), (10, -1)]
    assert found["made_in_cpp"][0][:2] == (100, -1)
    assert found["MulBackward0"][0][:2] == (40, -1)
    assert found["torch::autograd::CppNode<Own>"][0][:2] == (10, -1)
    assert found["autograd::engine::evaluate_function: ScaleBackward"][0][:2] == (20, -1)
    spots = hotspots(link(program.recording(tmp_path)))
    assert spots.totals.self_ns == 350 - 75 - 70
    assert max(spots.rows.python_ns.tolist()) == 75
    assert int(spots.rows.total_ns.max()) == 100


@pytest.mark.parametrize("name", ["ScaleBackward", "custom_op_1_fwdBackward", "CompiledFunctionBackward"])
def test_names_of_nodes_in_python(name: str) -> None:
    assert is_python_node(name)
    for other in (f"{name}0", f"{name}1_copy", f"torch::autograd::{name}"):
        assert not is_python_node(other)


@pytest.mark.parametrize("block_rows", [1, 3600])
def test_a_node_that_compiles_has_the_phase_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(storage, "BATCH_ROWS", block_rows)
    program = Program()
    program.thread(1)
    program.thread(2)
    apply = program.stack("train.py:5 main", APPLY)
    engine = program.stack("train.py:6 main", ENGINE)
    compiler = program.stack("train.py:6 main", ENGINE, COMPILER)
    node = {"node_thread": 1, "node_sequence": 0, "stack": engine}
    program.run(op("aten::traced_elsewhere", 1, 4000, stack=compiler), thread=1)
    program.run(op("CompiledFunction", 0, 10, stack=apply, sequence=0))
    for start_ns, traced in ((100, True), (1100, False)):
        kernel = op("inductor::cpp_fused_0", start_ns + 800, start_ns + 810, **node)
        fake = op("aten::traced", start_ns + 50, start_ns + 60, **{**node, "stack": compiler})
        inside = [fake, kernel] if traced else [kernel]
        program.run(op("CompiledFunctionBackward", start_ns, start_ns + 900, *inside, scope=1, **node))
    # A node of the program that runs compiled code for the first time also does other work.
    fake = op("aten::traced", 3010, 3020, **{**node, "stack": compiler})
    program.run(op("OwnBackward", 3000, 3100, fake, scope=1, **node))
    found = times(program, tmp_path, block_rows)
    assert found["CompiledFunctionBackward"] == [(0, 880, "compile"), (0, 890, "backward")]
    assert [row[2] for row in found["inductor::cpp_fused_0"]] == ["backward", "backward"]
    assert found["OwnBackward"] == [(0, 90, "backward")]
    assert found["CompiledFunction"][0][2] == "forward"


def test_the_report_shows_the_place_of_python_time(tmp_path: Path, snapshot: Snapshot) -> None:
    program = Program()
    program.thread(1)
    inside = program.stack("train.py:5 main", APPLY)
    node = {"node_thread": 1, "node_sequence": 0, "stack": program.stack("train.py:6 main", ENGINE)}
    program.run(
        op("Scale", 0, 50_000, op("aten::mul", 10_000, 20_000, stack=inside), stack=inside, sequence=0),
        op("ScaleBackward", 100_000, 200_000, scope=1, **node),
    )
    path = tmp_path / "made.perfprobe"
    program.recording(tmp_path)
    text = Results(str(path)).text(View(full=True), width=200)
    snapshot("\n".join(line for line in text.splitlines() if line.startswith(("Hottest", "Python that"))))


def test_a_row_with_a_hook_that_calls_operators_has_python_time(tmp_path: Path) -> None:
    program = Program()
    program.thread(1)
    engine = program.stack("train.py:6 main", ENGINE)
    hook = program.stack("train.py:6 main", ENGINE, "train.py:20 hook")
    node = {"node_thread": 1, "node_sequence": 0, "stack": engine}
    evaluate = "autograd::engine::evaluate_function"

    def around(name: str, start_ns: int, *, of_node: bool, of_engine: bool) -> Op:
        called = {**node, "stack": hook}
        first = [op("aten::mul", start_ns + 20, start_ns + 30, **called)] if of_node else []
        second = [op("aten::add", start_ns + 60, start_ns + 70, **called)] if of_engine else []
        inside = op(name, start_ns + 10, start_ns + 50, *first, scope=1, **node)
        return op(f"{evaluate}: {name}", start_ns, start_ns + 100, inside, *second, **node)

    program.run(
        around("AddBackward0", 100, of_node=False, of_engine=False),
        around("MulBackward0", 300, of_node=True, of_engine=False),
        around("torch::autograd::AccumulateGrad", 500, of_node=False, of_engine=True),
    )
    found = {name: rows[0][:2] for name, rows in times(program, tmp_path).items()}
    assert found == {
        "AddBackward0": (40, -1),
        f"{evaluate}: AddBackward0": (60, -1),
        "aten::mul": (10, -1),
        "MulBackward0": (0, 30),
        f"{evaluate}: MulBackward0": (60, -1),
        "aten::add": (10, -1),
        "torch::autograd::AccumulateGrad": (40, -1),
        f"{evaluate}: torch::autograd::AccumulateGrad": (0, 50),
    }
