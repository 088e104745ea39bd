"""The captured calls of CUDA graphs' work, in recordings made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge.link import link
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.gpu import Captured, CopyKind
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from tests.build import Program, op
from tests.merge.test_correlate import links_of

REPLAYS = 20


def captured(trace: Trace) -> Captured:
    return links_of(trace).captured


def program_with_graph(captures: int = 1, *, batches: bool = False, node_step: int = 1) -> Program:
    """Captures mm, relu and a copy at lines 10 to 12, then launches the graph at line 30 many times.

    captures: how often; all but the last graph are never launched. batches: whether their inputs differ.
    node_step: from one node's number to the next.
    """
    program = Program(gpu={"devices": [{"name": "NVIDIA H100"}]})
    program.thread(1)
    for at in range(captures):
        inputs = program.signature(f"f32[{at + 1 if batches else 8},8]")
        capture(program, at * 1000, inputs)
    outer = program.stack("a.py:30 main")
    for at in range(REPLAYS):
        start_ns, correlation = 10_000 + at * 1000, 100 + at
        program.run(op("step", start_ns, start_ns + 900, stack=outer))
        program.api_call("cudaGraphLaunch", start_ns + 10, start_ns + 20, correlation)
        nodes = {"graph": 5, "stream": 7}
        program.kernel("gemm", start_ns + 100, start_ns + 400, correlation, graph_node=40, **nodes)
        program.kernel(
            "relu_kernel", start_ns + 400, start_ns + 500, correlation, graph_node=40 + node_step, **nodes
        )
        program.copy(
            CopyKind.DEVICE_TO_DEVICE,
            start_ns + 600,
            start_ns + 650,
            correlation,
            graph_node=40 + 2 * node_step,
            **nodes,
        )
    return program


def capture(program: Program, at_ns: int, inputs: int) -> None:
    program.api_call("cudaStreamBeginCapture", at_ns, at_ns + 1, -1)
    for number, (name, line) in enumerate((("mm", 10), ("relu", 11))):
        begin_ns = at_ns + 100 * number
        stack = program.stack("a.py:20 main", f"model.py:{line} forward")
        program.run(op(name, begin_ns + 10, begin_ns + 50, stack=stack, signature=inputs))
        correlation = at_ns + number
        program.api_call("cuLaunchKernel", begin_ns + 22, begin_ns + 28, correlation)  # within the runtime's
        program.api_call("cudaLaunchKernel", begin_ns + 20, begin_ns + 30, correlation)
    stack = program.stack("a.py:20 main", "model.py:12 forward")
    program.run(op("copy_", at_ns + 300, at_ns + 350, stack=stack, signature=inputs))
    program.api_call("cudaMemcpyAsync", at_ns + 310, at_ns + 320, at_ns + 2)
    program.api_call("cudaStreamEndCapture", at_ns + 400, at_ns + 410, -1)


def operators(trace: Trace) -> list[str]:
    """For each kernel and copy the operator of its captured call, "" where that is not known."""
    links, found = links_of(trace), captured(trace)
    rows = [*found.kernels.tolist(), *found.copies.tolist()]
    strings = trace.recording[Strings]
    return [strings[int(links.sites.name[row])] if row >= 0 else "" for row in rows]


def test_work_of_a_graph_belongs_to_the_captured_calls(tmp_path: Path) -> None:
    trace = link(program_with_graph().recording(tmp_path))
    assert operators(trace) == ["mm", "relu"] * REPLAYS + ["copy_"] * REPLAYS
    assert not captured(trace).several_kernels.any()
    assert (links_of(trace).kernel_call >= 0).all()  # and to its launch


@pytest.mark.parametrize("batches", [False, True])
def test_captures_that_differ_in_inputs_only(batches: bool, tmp_path: Path) -> None:
    """Which of them was launched is not known, but its operators are."""
    trace = link(program_with_graph(3, batches=batches).recording(tmp_path))
    assert operators(trace)[:2] == ["mm", "relu"]
    assert captured(trace).several_kernels.all()


def test_an_order_that_is_not_that_of_the_nodes_is_not_used(tmp_path: Path) -> None:
    trace = link(program_with_graph(node_step=-1).recording(tmp_path))
    assert set(operators(trace)) == {""}


def test_a_capture_with_other_launches_is_not_that_of_the_graph(tmp_path: Path) -> None:
    program = program_with_graph()
    program.api_call("cudaLaunchKernel", 360, 370, 77)
    assert set(operators(link(program.recording(tmp_path)))) == {""}
    ran = program_with_graph()
    ran.api_call("cudaLaunchKernel", 360, 370, 77)  # of another thread's stream: it ran
    ran.kernel("other", 700, 800, 77)
    assert operators(link(ran.recording(tmp_path)))[:2] == ["mm", "relu"]


def test_kernels_that_run_together_have_no_certain_order(tmp_path: Path) -> None:
    program = program_with_graph()
    program.api_call("cudaGraphLaunch", 90_000, 90_010, 500)
    program.kernel("gemm", 90_100, 90_400, 500, graph=5, graph_node=40)
    program.kernel("relu_kernel", 90_150, 90_400, 500, graph=5, graph_node=41)
    program.copy(CopyKind.DEVICE_TO_DEVICE, 90_500, 90_600, 500, graph=5, graph_node=42)
    assert set(operators(link(program.recording(tmp_path)))) == {""}


def test_the_report_names_operators_and_lines_of_the_capture(tmp_path: Path) -> None:
    path = tmp_path / "graph.perfprobe"
    path.write_bytes(program_with_graph().encode())
    (row, *_) = Results(str(path)).document(View())["tables"]["kernels"]
    assert (row["operator"], row["line"], row["is_graph"]) == ("mm", 10, True)
