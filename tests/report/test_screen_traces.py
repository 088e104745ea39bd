"""The first screen for traces of torch.profiler made here: what it says, and what it must not claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe import measuring
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.measurements import Measurements
from tests.read.test_kineto import operator, span, written
from tests.snapshots import Snapshot, masked

STEP_US = 1000.0
STEPS = 4


def screen(path: Path) -> dict[str, str]:
    """The first line of each label."""
    lines = Results(str(path)).text(View(), width=200).splitlines()
    return {line[:8].strip(): line[8:].strip() for line in reversed(lines) if line}


def training(*, busy_us: float = 5.0, python: bool = False) -> list[dict[str, Any]]:
    """Steps of 1 ms: 100 us forward, 600 us backward on another thread, 50 us optimizer; one kernel each.

    By default the GPU has no part in them.
    """
    events: list[dict[str, Any]] = []
    for step in range(STEPS):
        at = step * STEP_US
        events += [
            span(f"ProfilerStep#{step}", at, STEP_US, "user_annotation"),
            operator("aten::mm", at + 10, 100, **{"Sequence number": step, "Fwd thread id": 0}),
            span("Optimizer.step#SGD.step", at + 800, 50, "user_annotation"),
            operator("aten::add_", at + 810, 30),
            span("cudaLaunchKernel", at + 20, 5, "cuda_runtime", correlation=step + 1),
            span("gemm", at + 30, busy_us, "kernel", correlation=step + 1, device=0, stream=7),
        ]
        backward = operator("MmBackward0", at + 150, 600, **{"Sequence number": step, "Fwd thread id": 1})
        events.append(backward | {"tid": 8})
        if python:
            events.append(span("train.py(3): step", at, STEP_US - 1, "python_function"))
    return events


def test_operators_on_autograds_thread_are_backward(tmp_path: Path) -> None:
    parts = screen(written(tmp_path / "trace.json", training()))["PARTS"]
    assert "backward 60 %" in parts
    assert "optimizer 5 %" in parts


def test_without_python_calls_python_is_not_judged(tmp_path: Path) -> None:
    events = [event for event in training() if event["name"] not in ("MmBackward0",)]
    lines = screen(written(tmp_path / "trace.json", events))
    assert not any("Python outside" in text for text in lines.values())


def test_next_commands_name_the_trace(tmp_path: Path) -> None:
    path = written(tmp_path / "a trace.json", training())
    assert screen(path)["NEXT"].endswith(f"'{path}'")


def test_one_call_that_took_nearly_all_time_comes_first(tmp_path: Path, snapshot: Snapshot) -> None:
    """CUDA starts in the first call of an operator: 5 s of 5.02 s. The others take 10 us."""
    events = [operator("aten::empty_strided", 6e6 + n * 100, 10) for n in range(20)]
    events += [operator("aten::mul", 7e6 + n * 1e4, 9e3) for n in range(2)]
    events += [operator("aten::empty_strided", 0, 5e6), span("cudaFree", 1, 4.9e6, "cuda_runtime")]
    events += [
        span("cudaLaunchKernel", 7e6 + 5, 5, "cuda_runtime", correlation=1),
        span("multiply", 7e6 + 20, 50, "kernel", correlation=1, device=0, stream=7),
    ]
    text = Results(str(written(tmp_path / "trace.json", events))).text(View(), width=200)
    snapshot(masked(text, folder=tmp_path))


def test_gpu_time_is_that_of_a_step(tmp_path: Path, snapshot: Snapshot) -> None:
    slow = screen(written(tmp_path / "trace.json", training(busy_us=STEP_US - 1)))["SLOW"]
    snapshot(slow)  # 30 us before the first step's kernel. The host's longest operator is a different one.


def test_first_lines_of_functions_are_marked(tmp_path: Path, snapshot: Snapshot) -> None:
    lines = screen(written(tmp_path / "trace.json", training(busy_us=STEP_US - 1, python=True)))
    snapshot(lines["SLOW"])


PROFILER_CALL = "torch/profiler/profiler.py(900): step"


def with_calls(step_us: tuple[float, ...] = (STEP_US,) * STEPS) -> list[dict[str, Any]]:
    """Steps of a loop in `train`, which had begun before recording. Its line 34 starts the profiler."""
    whole_us, at = sum(step_us) + 20, 20.0
    events = [
        span("main.py(48): <module>", 0, whole_us, "python_function"),
        span("main.py(34): train", 1, whole_us - 1, "python_function"),
        span(PROFILER_CALL, 2, 10, "python_function"),
    ]
    for step, length_us in enumerate(step_us):
        events += [
            span(f"ProfilerStep#{step}", at, length_us - 2, "user_annotation"),
            span("nn.Module: Net_0", at + 5, length_us - 500, "python_function"),
            span("main.py(11): forward", at + 6, length_us - 502, "python_function"),
            operator("aten::mm", at + 10, length_us - 600),
            span("Optimizer.step#SGD.step", at + length_us - 100, 50, "user_annotation"),
            operator("aten::add_", at + length_us - 90, 30),
        ]
        at += length_us
    return events


def test_a_loop_is_in_the_function_that_was_open_when_recording_began(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    path = written(tmp_path / "trace.json", with_calls())
    text = Results(str(path)).text(View(), width=200)
    snapshot(masked(text, folder=tmp_path))


def test_a_mean_far_from_the_median_is_shown(tmp_path: Path, snapshot: Snapshot) -> None:
    """Steps of 1, 1, 1.01 and 30 ms: shares are of their mean, 8.25 ms. Each range ends 2 us early."""
    slow = written(tmp_path / "slow.json", with_calls((1000.0, 1000.0, 1010.0, 30_000.0)))
    even = written(tmp_path / "even.json", with_calls())
    snapshot(slow=screen(slow)["STEP"], even=screen(even)["STEP"])


def test_a_trace_with_kernels_only(tmp_path: Path, snapshot: Snapshot) -> None:
    kernels = [event for event in training() if event["cat"] == "kernel"]
    text = Results(str(written(tmp_path / "trace.json", kernels))).text(View(), width=200)
    snapshot(masked(text, folder=tmp_path))


def test_bench_writes_nothing_beside_a_trace(tmp_path: Path) -> None:
    facts = {"Input Dims": [[4, 4], [4, 4]], "Input type": ["float", "float"]}
    path = written(tmp_path / "trace.json", [operator("aten::mm", 1, 5, **facts)])
    task = measuring.of_recording(str(path), top=1, focus=None, threads=1)
    assert any("beside a trace" in note for note in task.notes)
    found = Measurements("machine", "torch", None, ())
    assert measuring.save(task, found, None) is None
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


@pytest.mark.parametrize("value", [[], {}, [1], None, 1.5])
def test_invalid_types_and_devices(value: object, tmp_path: Path) -> None:
    facts = {"Input Dims": [[4, 4], []], "Input type": [value, "float"]}
    devices = [{"id": value, "name": "a"}, value]
    path = written(tmp_path / "trace.json", [operator("aten::mm", 1, 5, **facts)], deviceProperties=devices)
    assert "mm" in Results(str(path)).text(View())


def zeroing(kind: str) -> list[dict[str, Any]]:
    """Steps of `training` that end with 100 us of zero_grad, written in one of the forms that traces have."""
    events = training()
    for step in range(STEPS):
        at = step * STEP_US + 860
        file = "torch/optim/optimizer.py(994): zero_grad"
        more = {
            "annotation": [span("Optimizer.zero_grad#SGD.zero_grad", at, 100, "user_annotation")],
            "python": [
                span("train.py(3): step", at - 860, STEP_US - 1, "python_function"),
                span(file, at, 100, "python_function"),
                operator("aten::_foreach_zero_", at, 100),
            ],
            "foreach": [operator("aten::_foreach_zero_", at, 100)],
            "each": [operator("aten::zero_", at, 50), operator("aten::zero_", at + 50, 50)],
            "call stack": [operator("aten::zero_", at, 100, **{"Call stack": f"{file};train.py(3): step"})],
        }
        events += more[kind]
    return events


@pytest.mark.parametrize("kind", ["annotation", "python", "foreach", "each", "call stack"])
def test_zero_grad_is_named(kind: str, tmp_path: Path) -> None:
    assert "zero_grad 10 %" in screen(written(tmp_path / "trace.json", zeroing(kind)))["PARTS"]


def test_one_tensor_that_is_zeroed_is_not_zero_grad(tmp_path: Path) -> None:
    events = [*training(), *(operator("aten::zero_", step * STEP_US + 860, 100) for step in range(STEPS))]
    assert "zero_grad" not in screen(written(tmp_path / "trace.json", events))["PARTS"]


def test_the_next_command_is_never_cut(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 90)
    folder.mkdir()
    path = written(folder / "trace.json", training())
    lines = Results(str(path)).text(View(), width=60).splitlines()
    commands = [line for line in lines if line.startswith("NEXT")]
    assert len(commands) == 1
    assert commands[0].endswith(str(path))


def test_without_shapes_nothing_sends_to_bench(tmp_path: Path) -> None:
    bare = screen(written(tmp_path / "bare.json", training()))
    assert "perfprobe bench" not in " ".join(bare.values())
    assert "--view idle" in bare["NEXT"]
    assert "record_shapes=True" in bare.get("MORE", "record_shapes=True")
    events = training()
    events[1]["args"] |= {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
    assert "perfprobe bench" in screen(written(tmp_path / "shapes.json", events))["NEXT"]
