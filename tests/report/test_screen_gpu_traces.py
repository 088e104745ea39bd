"""The first screen for made traces of GPUs: custom launches, unrecorded work, operators in many shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfprobe.analyse.loop.regions import _mark
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.steps import StepPhase
from tests.read.test_kineto import operator, span, written
from tests.report.test_screen_traces import screen


def launched(at_us: float, begins_us: float, length_us: float, number: int, name: str = "k") -> list[Any]:
    """A call of 5 us, and its kernel."""
    where = {"device": 0, "stream": 7, "correlation": number}
    return [
        span("cudaLaunchKernel", at_us, 5, "cuda_runtime", correlation=number),
        span(name, begins_us, length_us, "kernel", **where),
    ]


def test_a_kernel_that_python_launches_is_named_with_its_line(tmp_path: Path) -> None:
    """Busy for 60 %: what the GPU computes and what it waits for are shares of its time."""
    events = [span("run.py(3): main", 0, 10_000, "python_function"), operator("aten::randn", 1, 20)]
    for step in range(10):
        events += launched(step * 1000 + 100, step * 1000 + 110, 600, step, "matmul_k(float*, int)")
    lines = screen(written(tmp_path / "trace.json", events))
    assert lines["PARTS"].startswith("computing 63 %, launches 37 %")
    assert lines["SLOW"].startswith("matmul_k, 6.00 ms = 62 %")
    assert "3.60 ms = 38 %" in lines["THEN"]


def test_work_that_waits_for_work_which_is_not_recorded(tmp_path: Path) -> None:
    """The second kernel was launched at once and began 6 ms later: it waited for something older."""
    events = [operator("aten::mm", 0, 50), *launched(1, 10, 1000, 1), *launched(20, 7000, 3000, 2)]
    parts = screen(written(tmp_path / "trace.json", events))["PARTS"]
    assert parts.startswith("computing 40 %, idle 60 %")


def test_an_operator_in_many_shapes_is_named_once(tmp_path: Path) -> None:
    events = [
        operator(
            "aten::mm", at * 1000, 200, **{"Input Dims": [[at + 1, 8], [8, 8]], "Input type": ["float"] * 2}
        )
        for at in range(4)
    ]
    events.append(operator("aten::add", 9000, 200))
    slow = screen(written(tmp_path / "trace.json", events))["SLOW"]
    assert slow.startswith("mm in 4 ")


def test_iterators_that_call_the_model_are_not_loading() -> None:
    assert _mark("/transformers/pipelines/pt_utils.py", "__next__") != StepPhase.DATA
    assert _mark("/mine/loader.py", "__next__") == StepPhase.DATA


def test_tokens_are_not_samples(tmp_path: Path) -> None:
    """In vLLM a batch has the tokens of several requests."""

    def calls(name: str) -> str:
        events = []
        for at in range(3):
            inputs = {"Input Dims": [[32, 8], [8, 8]], "Input type": ["float"] * 2}
            events += [
                span("nn.Module: Net_0", at * 1000, 900, "python_function"),
                span("model.py(3): forward", at * 1000 + 1, 898, "python_function"),
                operator("aten::linear", at * 1000 + 10, 500, **inputs),
                operator(name, at * 1000 + 600, 100),
            ]
        return Results(str(written(tmp_path / "trace.json", events))).text(View(), width=200)

    assert "samples/s" not in calls("_C::rms_norm")
