"""Changes for a GPU: made programs, and real traces in which peers give false advice."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables.advice import Check
from perfprobe.tables.device_account import DeviceAccount, DeviceKind, DeviceLeaves
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.gpu_findings import CopyRows, GpuFindings
from perfprobe.tables.idle import IdleCause
from tests.analyse.account.test_device import ENGINE, STEPS, US, Training
from tests.build import op
from tests.diagnose.advice.made import MS, advised, changes, judged, program, untold

SIMT, TENSOR = "ampere_sgemm_128x64_nn", "sm80_xmma_gemm_bf16bf16_bf16f32_f32"
TRACES = os.environ.get("PERFPROBE_TRACES")


class Step(Training):
    """Steps of 1000 us: a copy of 100 us, a product of 300, its backward, a value that is read, an update.

    memory: from which the copy is. inputs, kernel: of the product. reads: how many steps read a value.
    """

    def __init__(
        self,
        memory: MemoryKind = MemoryKind.PINNED,
        inputs: str = "bf16[64,64] bf16[64,64]",
        kernel: str = TENSOR,
        reads: int = STEPS,
        major: int | None = 9,
    ) -> None:
        self.memory, self.inputs, self.kernel, self.reads = memory, inputs, kernel, reads
        super().__init__()
        facts = {} if major is None else {"compute_major": major}
        self.program.meta |= {"gpu": {"devices": [{"name": "GPU", **facts}]}}

    def _step(self, number: int, at: int) -> None:
        made, node = self.program, {"node_sequence": number, "node_thread": 1}
        stack = {line: made.stack(f"/p/train.py:{line} main") for line in (22, 24, 25)}

        def us(begin: int) -> int:
            return at + begin * US

        made.run(op("aten::to", us(0), us(20), stack=stack[22]))
        self.correlation += 1
        made.api_call("cudaMemcpyAsync", us(5), us(6), self.correlation)
        made.copy(CopyKind.HOST_TO_DEVICE, us(10), us(110), self.correlation, source=self.memory, is_async=1)
        signature = made.signature(self.inputs)
        made.run(op("aten::mm", us(30), us(50), stack=self.model, sequence=number, signature=signature))
        self._work(us(35), self.kernel, us(120), 300 * US)
        engine = made.stack("/p/train.py:23 main", ENGINE)
        made.run(op("MmBackward0", us(60), us(80), stack=engine, **node))
        self._work(us(65), "reduce_kernel", us(430), 150 * US)
        if number < self.reads:
            made.run(op("aten::_local_scalar_dense", us(90), us(690), stack=stack[24]))
            self.correlation += 1
            made.api_call("cudaStreamSynchronize", us(95), us(685), self.correlation)
            made.gpu_wait(WaitKind.STREAM, us(95), us(585), self.correlation)
        self._work(us(775), "update_kernel", us(780), 100 * US, stack=stack[25])
        made.run(op("Optimizer.step#SGD.step", us(700), us(1000), stack=stack[25], scope=7))


@pytest.mark.parametrize(
    ("memory", "is_said"),
    [(MemoryKind.PAGEABLE, True), (MemoryKind.PINNED, False), (MemoryKind.UNKNOWN, False)],
)
def test_copies_from_pageable_memory(tmp_path: Path, memory: MemoryKind, is_said: bool) -> None:
    found = advised(Step(memory).program, tmp_path)
    assert ("pinned" in found) is is_said
    if is_said:
        assert found["pinned"].check is Check.SAME_BITS
        assert found["pinned"].snippet.startswith("DataLoader(..., pin_memory=True)\n")


def test_a_cpu_needs_no_pinned_memory(tmp_path: Path) -> None:
    assert "pinned" not in advised(program(), tmp_path)


@pytest.mark.parametrize(
    ("inputs", "kernel", "major", "says"),
    [
        ("f32[64,64] f32[64,64]", SIMT, 8, "yes"),
        ("f32[64,64] f32[64,64]", SIMT, 7, "no"),
        ("f32[64,64] f32[64,64]", SIMT, None, "cannot tell"),
        ("f32[64,64] f32[64,64]", "sm80_xmma_gemm_f32f32_tf32f32_f32", 8, "no"),
        ("bf16[64,64] bf16[64,64]", TENSOR, 9, "no"),
        ("bf16[64,64] bf16[64,64]", "gemv_kernel", 9, "no"),
    ],
)
def test_products_of_single_precision(
    tmp_path: Path, inputs: str, kernel: str, major: int | None, says: str
) -> None:
    findings = judged(Step(inputs=inputs, kernel=kernel, major=major).program, tmp_path)
    known = "tf32" in advised(Step(inputs=inputs, kernel=kernel, major=major).program, tmp_path)
    assert (known, "tf32" in untold(findings)) == (says == "yes", says == "cannot tell")


@pytest.mark.parametrize(("reads", "is_said"), [(STEPS, True), (1, False), (0, False)])
def test_values_read_in_each_step(tmp_path: Path, reads: int, is_said: bool) -> None:
    assert ("reads" in advised(Step(reads=reads).program, tmp_path)) is is_said


def memory(retries: int, full: float) -> DeviceMemory:
    known = {"retries": retries, "peak_bytes": round(full * 1000), "capacity_bytes": 1000}
    columns = {name: np.array([known.get(name, 0)], dtype) for name, dtype in DeviceMemory.dtypes.items()}
    return DeviceMemory(**columns)


@pytest.mark.parametrize(
    ("idle_ms", "given", "says"),
    [
        (0.1, memory(3, 0.9), "yes"),
        (0.1, memory(0, 0.9), "no"),
        (0.01, memory(3, 0.9), "no"),
        (0.1, None, "cannot tell"),
    ],
    ids=["retries", "none", "no time", "not recorded"],
)
def test_an_allocator_that_begins_anew(
    tmp_path: Path, idle_ms: float, given: DeviceMemory | None, says: str
) -> None:
    findings = judged(Step().program, tmp_path, *([] if given is None else [given]))
    account = findings[DeviceAccount]
    idle = np.flatnonzero(account.leaves.kind == DeviceKind.IDLE)[:1]
    row = account.leaves.take(idle)
    more = {
        "cause": np.array([IdleCause.ALLOCATOR], np.int8),
        "time_ns": np.array([STEPS * round(idle_ms * MS)]),
    }
    leaves = DeviceLeaves.concat([account.leaves, DeviceLeaves(**row.columns() | more)])
    findings = diagnosed(findings.plus(replace(account, leaves=leaves)))
    said = ("allocator" in changes(findings), "allocator" in untold(findings))
    assert said == (says == "yes", says == "cannot tell")


@pytest.mark.parametrize(
    ("images", "share", "is_said"), [(1.0, 0.1, True), (0.1, 0.1, False), (0.0, 0.1, False)]
)
def test_images_as_floats(tmp_path: Path, images: float, share: float, is_said: bool) -> None:
    """A tenth of the GPU's time is copies. images: the part of their bytes that are images of floats."""
    findings = judged(Step().program, tmp_path)
    gpu = findings[GpuFindings]
    bytes_of = np.round(gpu.copies.size_bytes * images).astype(np.int64)
    copies = CopyRows(**gpu.copies.columns() | {"image_bytes": bytes_of})
    found = changes(diagnosed(findings.plus(replace(gpu, copies=copies))))
    assert ("images-as-bytes" in found) is is_said
    if is_said:
        assert found["images-as-bytes"].share == pytest.approx(0.75 * 0.1, abs=0.01)


@pytest.mark.skipif(not TRACES, reason="PERFPROBE_TRACES is not set")
@pytest.mark.parametrize(
    ("trace", "rules"),
    [
        ("h100_bert_small", []),
        ("h100_qwen_0.5b", []),
        ("v100_resnet50_num_workers_0", ["workers"]),
        ("v100_resnet50_num_workers_4", []),
    ],
)
def test_false_advice_of_peers_is_not_repeated(trace: str, rules: list[str]) -> None:
    """AMP to a run in bfloat16 and workers where they hide all loading; but workers where there are none."""
    document = Results(f"{TRACES}/{trace}.json.gz").document(View())
    found = [row["rule"] for row in document["tables"]["advice"] if row["rule"] != "set-to-none"]
    assert found == rules
