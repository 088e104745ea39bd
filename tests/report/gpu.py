"""GPU findings written by hand, for the sections that show them: some steps of a transformer on one GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.merge import link
from perfprobe.tables.between import Between
from perfprobe.tables.findings import Findings, HotLines, Hotspots
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.gpu_findings import (
    CopyRows,
    DeviceRows,
    GpuFindings,
    KernelRows,
    LaunchRows,
    StepCounts,
    WaitRows,
)
from perfprobe.tables.python import CallStructure
from perfprobe.tables.steps import Steps
from perfprobe.tables.trace import NoLine, Phase
from tests.build import Program, op
from tests.found import find
from tests.report.calling import table
from tests.report.test_text import META

MS = 1_000_000
WALL_NS = 100 * MS
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >"
    "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"
FORWARD, BACKWARD, OTHER = int(Phase.FORWARD), int(Phase.BACKWARD), int(Phase.OTHER)


class OnGpu:
    """A recorded program with given GPU findings. Ids are those of its recording."""

    def __init__(self, **meta: Any) -> None:
        stop = {"monotonic_ns": WALL_NS, "cpu_ns": WALL_NS}
        gpu = {"devices": [{"name": "NVIDIA H200"}]}
        self.program = Program(**{**META, "stop": stop, "gpu": gpu, **meta})
        self.program.thread(1)
        self.frames: dict[str, int] = {}
        self.kernels: list[Mapping[str, int]] = []
        self.copies: list[Mapping[str, int]] = []
        self.waits: list[Mapping[str, int]] = []
        self.calls: list[Mapping[str, int]] = []
        self.devices: list[Mapping[str, int]] = []
        self.steps: list[Mapping[str, int]] = []
        self.step_counts: list[Mapping[str, int]] = []
        figures = ("graph_launches", "unlinked", "untimed", "outside", "exact", "disagreements")
        self.figures = dict.fromkeys(figures, 0)

    def string(self, text: str) -> int:
        return self.program.string(text)

    def site(
        self, operator: str | None, place: str | None, phase: int = FORWARD, **more: int
    ) -> dict[str, int]:
        """The columns that say what launched the work."""
        frame = -1 if place is None else self.program.frame(place)
        return {
            "operator": -1 if operator is None else self.string(operator),
            "frame": frame,
            "forward_frame": -1,
            "phase": phase,
            "linked": 1,
            "no_line": int(NoLine.NONE if place else NoLine.NO_PYTHON),
            **more,
        }

    def kernel(self, name: str, total_ns: int, site: Mapping[str, int], **more: int) -> None:
        row = {"name": self.string(name), "kernels": 10, "untimed": 0, "is_graph": 0, "total_ns": total_ns}
        ends = {"least_ns": total_ns // 20, "most_ns": total_ns // 5}
        self.kernels.append({**row, **ends, **site, **more})

    def copy(self, kind: int, source: int, destination: int, site: Mapping[str, int], **more: int) -> None:
        row = {"kind": kind, "source": source, "destination": destination, "is_async": 1, "copies": 4}
        row |= {"untimed": 0, "size_bytes": 40_000_000, "total_ns": 2 * MS}
        self.copies.append({**row, **site, **more})

    def wait(self, kind: int, call: str, total_ns: int, site: Mapping[str, int], **more: int) -> None:
        row = {"kind": kind, "call": self.string(call), "waits": 4, "total_ns": total_ns}
        self.waits.append({**row, "longest_ns": total_ns // 2, **site, **more})

    def device(self, busy_ns: int, **more: int) -> None:
        row = {"device": len(self.devices), "kernels": 40, "kernel_ns": busy_ns, "copies": 8, "copy_ns": MS}
        row |= {"copied_bytes": 1 << 20, "streams": 1, "busy_ns": busy_ns}
        row |= {"computing_ns": busy_ns, "communication_ns": 0, "copying_ns": MS}
        self.devices.append({**row, "first_ns": 20 * MS, "last_ns": 90 * MS, **more})

    def step(self, start_ns: int, end_ns: int, **counts: int) -> None:
        zero = dict.fromkeys(StepCounts.dtypes, 0)
        self.step_counts.append({**zero, "step": len(self.steps), **counts})
        self.steps.append({"start_ns": start_ns, "end_ns": end_ns})

    def findings(self, folder: Path, focus: str | None = None) -> Findings:
        trace = link(self.program.recording(folder))
        found = find(trace, Hotspots, HotLines, Between, CallStructure, focus=focus)
        return diagnosed(found.plus(self.gpu()))

    def gpu(self) -> GpuFindings:
        return GpuFindings(
            kernels=table(KernelRows, self.kernels),
            copies=table(CopyRows, self.copies),
            waits=table(WaitRows, self.waits),
            calls=table(LaunchRows, self.calls),
            devices=table(DeviceRows, self.devices),
            steps=table(Steps, self.steps),
            step_counts=table(StepCounts, self.step_counts),
            **self.figures,
        )


def transformer() -> OnGpu:
    """Steps of a transformer: matrix products, an add, a CUDA graph, copies, an `.item()`."""
    on = OnGpu()
    program = on.program
    mm = program.signature("f16[2048,512]@cuda:0 f16[512,2048]@cuda:0{1,512}")
    add = program.signature("f32[64,512]@cuda:0 f32[64,512]@cuda:0")
    line = program.stack("/p/train.py:20 main", "/p/model.py:88 Attention.forward")
    program.run(op("aten::mm", 0, 30 * MS, stack=line, signature=mm))
    product = on.site("aten::mm", "/p/model.py:88 Attention.forward", signature=mm)
    on.kernel(GEMM, 30 * MS, product, launch=program.row("launches", 16, 32, 1, 128, 1, 1, 90, 0, 0, 0))
    on.kernel(GEMM, 20 * MS, {**product, "phase": BACKWARD, "forward_frame": product["frame"]})
    on.kernel(ADD, 6 * MS, on.site("aten::add", "/p/model.py:90 Attention.forward", signature=add))
    on.kernel("triton_poi_fused_add_3", 3 * MS, on.site(None, "/p/train.py:31 step"), is_graph=1)
    on.kernel("lost_kernel", MS, on.site(None, None, OTHER, linked=0, no_line=int(NoLine.CALL_NOT_RECORDED)))
    host, device = int(MemoryKind.PAGEABLE), int(MemoryKind.DEVICE)
    load = on.site("aten::copy_", "/p/train.py:18 main", OTHER)
    on.copy(CopyKind.HOST_TO_DEVICE, host, device, load, is_async=0)
    item = on.site("aten::_local_scalar_dense", "/p/train.py:25 main", OTHER)
    on.copy(CopyKind.DEVICE_TO_HOST, device, int(MemoryKind.PINNED), item, size_bytes=16, total_ns=8_000)
    on.wait(WaitKind.STREAM, "cudaStreamSynchronize", 12 * MS, item)
    for name, calls, total_ns in (("cudaLaunchKernel", 500, 4 * MS), ("cudaMemcpyAsync", 8, 2 * MS)):
        row = {"name": on.string(name), "calls": calls, "failed": 0, "total_ns": total_ns}
        on.calls.append({**row, "longest_ns": MS})
    on.device(56 * MS)
    for at in range(4):
        on.step(
            at * 10 * MS,
            (at + 1) * 10 * MS,
            kernels=10 + at,
            kernel_ns=7 * MS,
            copies=2,
            copied_bytes=1 << 20,
        )
    on.figures |= {"graph_launches": 4, "unlinked": 10}
    return on


def with_gpu_times(findings: Findings, self_ns: Sequence[int], total_ns: Sequence[int]) -> Findings:
    """The same with GPU times for each row of operators."""
    own, total = np.array(self_ns, np.int64), np.array(total_ns, np.int64)
    rows = replace(findings[Hotspots].rows, gpu_self_ns=own, gpu_ns=total)
    return diagnosed(findings.plus(replace(findings[Hotspots], rows=rows, gpu_self_ns=sum(self_ns))))
