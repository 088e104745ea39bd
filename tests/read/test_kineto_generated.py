"""Kernels of Triton and torch.compile, and of NCCL, in traces."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse.analysis import Analysis
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.report.rows.gpu.kernels import KernelRow, kernel_rows
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu_findings import GpuFindings

NAME = "triton_poi_fused_add_relu_0"
FILE = "/tmp/torchinductor_me/ab/cabcd.py"
FORWARD = "DistributedDataParallel.forward"


def span(category: str, name: str, start_us: int, end_us: int, **facts: Any) -> dict[str, Any]:
    reported = {"cat": category, "name": name, "ts": start_us, "dur": end_us - start_us, "args": facts}
    return {"ph": "X", "pid": 1, "tid": 1, **reported}


def launched(at_us: int, name: str, number: int) -> list[dict[str, Any]]:
    where = {"device": 0, "stream": 7, "correlation": number}
    call = span("cuda_runtime", "cudaLaunchKernel", at_us, at_us + 1, correlation=number)
    return [call, span("kernel", name, at_us + 100, at_us + 110, **where)]


def rows_of(folder: Path, events: list[dict[str, Any]]) -> tuple[dict[str | None, KernelRow], list[str]]:
    """Rows of kernels by operator, and what is lost."""
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace = link(kineto.read(path))
    rows = kernel_rows(Analysis(trace).find((GpuFindings,)), 0).rows
    return {row.operator: row for row in rows}, trace.recording[Losses].reason.tolist()


def generated(**facts: Any) -> list[dict[str, Any]]:
    return [span("cpu_op", NAME, 10, 20, **facts), *launched(12, NAME, 1)]


def test_a_kernel_has_the_file_it_was_made_in_and_its_operators(tmp_path: Path) -> None:
    rows, lost = rows_of(tmp_path, generated(kernel_file=FILE, kernel_backend="triton"))
    row = rows[f"inductor::{NAME}"]
    assert row.at.line is not None
    assert (row.at.line.file, row.at.line.line, row.at.line.function) == (FILE, 1, NAME)
    assert (row.made_from, row.family) == (["add", "relu"], "inductor")
    assert any("Triton's kernels" in reason for reason in lost)


def test_with_python_stacks_it_has_the_program_s_line(tmp_path: Path) -> None:
    python = [
        span("python_function", "train.py(7): step", 0, 50, **{"Python id": 1}),
        span("python_function", f"{FILE}(40): call", 5, 40, **{"Python id": 2, "Python parent id": 1}),
    ]
    rows, lost = rows_of(tmp_path, [*python, *generated(kernel_file=FILE, kernel_backend="triton")])
    line = rows[f"inductor::{NAME}"].at.line
    assert line is not None
    assert (line.file, line.line) == ("train.py", 7)
    assert not any("Triton's kernels" in reason for reason in lost)


def test_older_traces_have_its_name_only(tmp_path: Path) -> None:
    rows, _ = rows_of(tmp_path, generated())
    row = rows[f"inductor::{NAME}"]
    assert (row.made_from, row.at.line) == (["add", "relu"], None)
    rows, _ = rows_of(tmp_path, [span("cpu_op", "CompiledFunction", 10, 20), *launched(12, NAME, 1)])
    assert rows["CompiledFunction"].made_from == ["add", "relu"]


def test_a_kernel_that_the_user_wrote_in_triton(tmp_path: Path) -> None:
    own = span("cpu_op", "_softmax_kernel", 10, 20, kernel_file="/home/me/kernels.py")
    rows, _ = rows_of(tmp_path, [own, *launched(12, "_softmax_kernel", 1)])
    row = rows["triton::_softmax_kernel"]
    assert (row.family, row.made_from) == ("Triton", None)


@pytest.mark.parametrize("file", [7, None, "", ["a.py"], "kernel"])
def test_what_is_no_file(file: object, tmp_path: Path) -> None:
    rows, _ = rows_of(tmp_path, generated(kernel_file=file))
    assert rows[f"inductor::{NAME}"].at.line is None


def communicating(operator: str, at_us: int, kernel: str, number: int) -> list[dict[str, Any]]:
    return [span("cpu_op", operator, at_us, at_us + 10), *launched(at_us + 2, kernel, number)]


def test_whose_communication_it_is(tmp_path: Path) -> None:
    reduce, gather, send = (f"ncclDevKernel_{name}" for name in ("AllReduce", "AllGather", "Broadcast"))
    events = [
        *communicating("c10d::allreduce_", 10, reduce, 1),
        span("user_annotation", "FSDP::all_gather (layers.0)", 100, 150),
        *communicating("c10d::_allgather_base_", 110, gather, 2),
        span("user_annotation", FORWARD, 200, 300),
        *communicating("c10d::broadcast_", 210, send, 3),
        *communicating("c10d::allgather_", 230, gather, 4),  # of SyncBatchNorm
        span("user_annotation", "FullyShardedDataParallel.forward", 400, 500),
        *communicating("c10d::alltoall_", 410, "ncclDevKernel_SendRecv", 5),
        span("user_annotation", "FullyShardedDataParallel._pre_forward", 430, 450),
        *communicating("c10d::allgather_into_", 435, gather, 6),
    ]
    rows, _ = rows_of(tmp_path, events)
    assert {row.family for row in rows.values()} == {"NCCL"}
    assert {operator: row.wrapper for operator, row in rows.items()} == {
        "c10d::allreduce_": None,
        "c10d::_allgather_base_": "FSDP",
        "c10d::broadcast_": "DDP",
        "c10d::allgather_": None,
        "c10d::alltoall_": None,
        "c10d::allgather_into_": "FSDP",
    }


def test_ranges_in_the_source_of_this_torchs_fsdp_are_known(tmp_path: Path) -> None:
    """All ranges that FSDP 1 and 2 set, except those around the model and around waits."""
    torch = find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("no torch")
    files = Path(torch.origin).with_name("distributed").joinpath("fsdp").rglob("*.py")
    named = re.compile(r'record_function\(\s*(?:self\._with_fqn\()?f?"([^"]+)"')
    names = sorted({name for file in files for name in named.findall(file.read_text(encoding="utf-8"))})
    assert len(names) > 10
    events = []
    for number, name in enumerate(names):
        at_us = number * 1000
        events.append(span("user_annotation", name, at_us, at_us + 100))
        events += communicating(f"c10d::{name}", at_us + 10, "ncclDevKernel_AllGather", number + 1)
    rows, _ = rows_of(tmp_path, events)
    others = {operator for operator, row in rows.items() if row.wrapper != "FSDP"}
    assert others <= {f"c10d::FullyShardedDataParallel.{name}" for name in ("forward", "rate_limiter")}
