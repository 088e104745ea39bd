"""What is in a trace and not read, files of other tools, and Python stacks of calls outside of operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfprobe.read import kineto
from perfprobe.results import Results
from perfprobe.support.errors import InputError
from perfprobe.support.view import View
from perfprobe.tables.gpu import ApiCalls
from tests.read.test_kineto import lines_of, operator, span, written

Event = dict[str, Any]


def screen(path: Path) -> str:
    return Results(str(path)).text(View(), width=200)


def test_events_of_mtia_are_counted(tmp_path: Path) -> None:
    events = [operator("aten::mm", 10, 10), *(span("x", at, 1, "mtia_ccp_events") for at in range(30))]
    path = written(tmp_path / "trace.json", events)
    assert kineto.read(path).fact("trace", "unread") == {"MTIA": 30}
    assert "GPU     30 events" in screen(path)


def test_rows_of_ascend_have_no_category(tmp_path: Path) -> None:
    def named(process: int, name: str) -> Event:
        return {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}

    work = [{"ph": "X", "name": "MatMul", "pid": 9, "tid": 2, "ts": at, "dur": 1} for at in range(20)]
    host = [{"ph": "X", "name": "call", "pid": 8, "tid": 2, "ts": at, "dur": 1} for at in range(5)]
    events = [named(8, "CANN"), *work, *host, named(9, "Ascend Hardware"), operator("aten::mm", 0, 1)]
    assert kineto.read(written(tmp_path / "trace.json", events)).fact("trace", "unread") == {"Ascend": 20}


@pytest.mark.parametrize("launches", [0, 12])
def test_launches_without_kernels_are_said(launches: int, tmp_path: Path) -> None:
    events = [operator("aten::mm", at * 10, 8) for at in range(12)]
    events += [
        span("cudaLaunchKernel", at * 10 + 1, 2, "cuda_runtime", correlation=at) for at in range(launches)
    ]
    text = screen(written(tmp_path / "trace.json", events))
    assert ("12 launches" in text) == (launches == 12)


def test_calls_outside_of_operators_have_the_python_around_them(tmp_path: Path) -> None:
    """A kernel of the program's own is launched by Python; one is launched in an operator."""
    events = [
        span("run.py(3): main", 0, 100, "python_function"),
        span("mine.py(7): launch", 10, 20, "python_function"),
        span("nn.Module: Net_0", 40, 30, "python_function"),
        operator("aten::mm", 50, 10),
        span("cuLaunchKernel", 15, 2, "cuda_driver", correlation=1),
        span("cudaLaunchKernel", 52, 2, "cuda_runtime", correlation=2),
        span("cuLaunchKernel", 80, 2, "cuda_driver", correlation=3),
        span("cuLaunchKernel", 150, 2, "cuda_driver", correlation=4),
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    stacks = recording[ApiCalls].stack.tolist()
    found = [[line.partition(" ")[0] for line in lines_of(recording, stack)] for stack in stacks]
    assert found == [["mine.py:7", "run.py:3"], [], ["run.py:3"], []]


def test_a_thread_without_operators_has_stacks_too(tmp_path: Path) -> None:
    events = [
        span("run.py(3): main", 0, 100, "python_function"),
        span("cuLaunchKernel", 15, 2, "cuda_driver", correlation=1),
    ]
    recording = kineto.read(written(tmp_path / "trace.json", events))
    assert len(lines_of(recording, int(recording[ApiCalls].stack[0]))) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            b'{"traceEvents": [{"ph": "X", "cat": "FEE", "name": "f", "ts": 1, "dur": 2, "tid": 1}],'
            b'"viztracer_metadata": {"version": "1.0"}}',
            "1 events, none of torch.profiler, a file of VizTracer",
        ),
        (
            b'[{"ph": "X", "cat": "devtools.timeline", "name": "f", "ts": 1, "dur": 2, "tid": 1}]',
            "1 events, none of torch.profiler, a file of Chrome DevTools",
        ),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "mine", "name": "f", "ts": 1, "dur": 2, "tid": 1}]}',
            "1 events, none of torch.profiler:",
        ),
        (b"[[1690000, 1690001], [[0, 1], [0, 2]]]", "this is a memory timeline of torch.profiler"),
        (b'{"Type": 80, "NvtxEvent": {}}', "this is an export of Nsight Systems"),
        (b'{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": []}', "this is an execution trace of PyTorch"),
    ],
)
def test_files_of_other_tools_are_named(text: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as raised:
        kineto.read(path)
    assert said in str(raised.value)
