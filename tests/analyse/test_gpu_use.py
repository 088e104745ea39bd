"""How well a GPU was used, in a made trace with figures counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.analyse.analysis import Analysis
from perfprobe.merge import link
from perfprobe.read import kineto
from perfprobe.report.rows.gpu.kernels import kernel_rows
from perfprobe.report.rows.gpu.use import PARTS, part_rows, use_rows
from perfprobe.report.rows.peers.tensorboard import role_rows, summary_rows
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_use import GpuUse
from perfprobe.tables.peers import PeerTimes
from tests.build import Program, op

V100 = {
    **{"id": 0, "name": "Tesla V100", "totalGlobalMem": 1 << 35, "computeMajor": 7, "computeMinor": 0},
    **{"warpSize": 32, "numSms": 80, "maxThreadsPerMultiprocessor": 2048},
    **{"regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 98304},
}
GEMM = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"


def span(category: str, name: str, start_us: int, end_us: int, **facts: Any) -> dict[str, Any]:
    reported = {"cat": category, "name": name, "ts": start_us, "dur": end_us - start_us, "args": facts}
    return {"ph": "X", "pid": 1, "tid": 1, **reported}


def kernel(
    name: str, start_us: int, end_us: int, correlation: int, blocks: int, **facts: Any
) -> dict[str, Any]:
    sizes = {"grid": [blocks, 1, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 1024}
    where = {"device": 0, "context": 1, "stream": 7, "correlation": correlation}
    return span("kernel", name, start_us, end_us, **where, **sizes, **facts)


EVENTS = [
    span("user_annotation", "ProfilerStep#3", 1000, 1100),
    span("cpu_op", "aten::mm", 1010, 1020),
    span("cuda_runtime", "cudaLaunchKernel", 1012, 1014, correlation=1),
    kernel(GEMM, 1030, 1060, 1, 40, **{"est. achieved occupancy %": 6}),
    span("user_annotation", "ProfilerStep#4", 1100, 1200),
    span("cpu_op", "aten::add", 1110, 1120),
    span("cuda_runtime", "cudaLaunchKernel", 1112, 1114, correlation=2),
    span("cuda_runtime", "cudaMemcpyAsync", 1116, 1118, correlation=3),
    kernel(
        "void at::native::elementwise_kernel<128, 4>", 1120, 1220, 2, 160, **{"est. achieved occupancy %": 25}
    ),
    span(
        "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1150, 1240, device=0, stream=8, correlation=3, bytes=8
    ),
]


@pytest.fixture
def found(tmp_path: Path) -> Findings:
    return findings_of(tmp_path, EVENTS, [V100])


def findings_of(folder: Path, events: list[dict[str, Any]], devices: list[dict[str, Any]]) -> Findings:
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": devices, "traceEvents": events}))
    return Analysis(link(kineto.read(path))).find((GpuFindings, GpuUse, PeerTimes))


def test_steps_end_with_the_last_work_launched_in_them(found: Findings) -> None:
    steps = found[GpuUse].steps
    assert steps.number.tolist() == [3, 4]
    assert steps.start_ns.tolist() == [1_000_000, 1_100_000]
    assert steps.end_ns.tolist() == [1_100_000, 1_240_000]


def test_shares_of_the_steps(found: Findings) -> None:
    (row,) = use_rows(found)
    assert row.utilization == 130 / 240
    assert row.busy == (30 + 120) / 240
    assert row.sm_efficiency == pytest.approx((30 * 0.5 + 100) / 240)
    assert row.plugin_occupancy == pytest.approx((6 * 30 + 25 * 100) / 130 / 100)
    assert row.occupancy == pytest.approx((0.5 * 30 + 2 * 100) / 130 * 256 / 2048)
    assert row.tensor_cores == row.plugin_tensor_cores == 30 / 130


def test_a_step_is_divided_by_kinds_of_gpu_work(found: Findings) -> None:
    of_step = {(row.step, row.part): row.time_ns for row in part_rows(found)}
    assert [of_step[3, part] for part in PARTS] == [
        30e3,
        0,
        0,
        70e3,
    ]
    assert [of_step[4, part] for part in PARTS] == [
        100e3,
        0,
        20e3,
        20e3,
    ]
    assert of_step[None, "idle"] == 45e3


def test_the_plugins_breakdown_has_the_same_steps(found: Findings) -> None:
    of_step = {(row.step, row.category): row.time_ns for row in role_rows(found)}
    assert of_step[4, "Kernel"] == 100e3
    assert of_step[4, "Memcpy"] == 20e3
    assert of_step[4, "Runtime"] == 4e3
    assert of_step[4, "CPU Exec"] == 6e3
    assert of_step[4, "Other"] == 10e3
    (summary,) = summary_rows(found)
    assert (summary.name, summary.compute_capability) == ("Tesla V100", "7.0")


def test_sizes_of_launches(found: Findings) -> None:
    second, first = (row.sizes for row in kernel_rows(found, 0).rows)
    assert (first.shared_bytes, first.blocks_per_sm) == (1024, 0.5)
    assert (first.theoretical_occupancy, first.occupancy, first.plugin_occupancy) == (1.0, 0.0625, 0.06)
    assert (first.tensor_cores, first.plugin_tensor_cores) == (True, True)
    assert (second.occupancy, second.tensor_cores) == (0.25, False)


def test_an_unfinished_last_step_of_a_trace_of_2021_is_left_out(tmp_path: Path) -> None:
    cut = [
        span("user_annotation", "ProfilerStep#5", 1240, 1300),
        span("cuda_runtime", "cudaLaunchKernel", 1250, 1252, correlation=4),
        kernel(GEMM, 1260, 1270, 4, 40),
    ]
    events = [dict(event) for event in (*EVENTS, *cut)]
    assert findings_of(tmp_path, events, [V100])[GpuUse].steps.number.tolist() == [3, 4, 5]
    for event in events:
        event["cat"] = {"cuda_runtime": "Runtime", "kernel": "Kernel"}.get(event["cat"], event["cat"])
    assert findings_of(tmp_path, events, [V100])[GpuUse].steps.number.tolist() == [3, 4]


def test_a_device_without_facts(tmp_path: Path) -> None:
    found = findings_of(tmp_path, EVENTS, [{"id": 0, "name": ["no", "name"], "numSms": "80"}])
    (row,) = use_rows(found)
    assert row.utilization == 130 / 240
    assert row.sm_efficiency is None
    assert row.occupancy is None
    (summary,) = summary_rows(found)
    assert summary.name is None


def test_kineto_knows_the_multiprocessors_where_the_trace_does_not(tmp_path: Path) -> None:
    events = [dict(event, args=dict(event["args"])) for event in EVENTS]
    for event in events:
        if event["cat"] == "kernel":
            event["args"]["blocks per SM"] = event["args"]["grid"][0] / 80
    (row,) = use_rows(findings_of(tmp_path, events, []))
    assert row.sm_efficiency == pytest.approx((30 * 0.5 + 100) / 240)
    assert row.occupancy is None


def test_a_recording_of_perfprobe_s_own(tmp_path: Path) -> None:
    """CUPTI has shared memory in two parts; what the driver does not say, the compute capability does."""
    facts = {"compute_major": 9, "compute_minor": 0, "multiprocessors": 132, "multiprocessor_threads": 2048}
    program = Program(gpu={"devices": [{"name": "NVIDIA H200", **facts}]})
    program.thread(1)
    launch = program.row("launches", 66, 1, 1, 384, 1, 1, 168, 1024, 200 * 1024, 0)
    program.run(op("aten::mm", 1000, 2000))
    program.api_call("cudaLaunchKernel", 1200, 1300, 1)
    program.kernel("nvjet_tst_128x256", 1500, 2500, 1, launch=launch)
    found = Analysis(link(program.recording(tmp_path))).find((GpuFindings, GpuUse, PeerTimes))
    ((row,), (use,)) = kernel_rows(found, 0).rows, use_rows(found)
    assert (row.sizes.shared_bytes, row.sizes.blocks_per_sm) == (201 * 1024, 0.5)
    assert (row.sizes.theoretical_occupancy, row.sizes.plugin_occupancy) == (384 / 2048, 192 / 2048)
    assert (row.sizes.tensor_cores, row.sizes.plugin_tensor_cores, row.family) == (True, False, "cuBLAS")
    assert (use.span_ns, use.utilization, use.sm_efficiency) == (1500, 1000 / 1500, 500 / 1500)
    assert (use.tensor_cores, use.plugin_tensor_cores) == (1.0, 0.0)
    (summary,) = summary_rows(found)
    assert summary.est_achieved_occupancy == 192 / 2048
