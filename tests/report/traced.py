"""A recording with some of all that a trace draws, with times known by hand; and what differs in two."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from perfprobe.results import Results
from perfprobe.tables.columns import Table
from perfprobe.tables.definitions import IN_MEMORY
from perfprobe.tables.events import Losses, Operators
from perfprobe.tables.gpu import CopyKind, MemoryKind, WaitKind
from perfprobe.tables.ranges import RangeKind, RangeSource
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import STEP_NAME, USER_SCOPE
from tests.build import NEXT, Program, op

US, MS = 1000, 1_000_000
START_NS = 5_000_000_000_123  # the clock of a machine that has been up for a while
STEPS, STEP_NS = 3, 10 * MS
LOST = {  # what a trace does not hold
    *("functions", "calls", "signature_values", "operand_reuse", "autograd_windows", "operator_windows"),
    *("progress", "gpu_states", "module_calls"),
    *("thread_times", "processor_times", "wait_readings", "thread_activity", "live_steps"),
    *("device_memory", "memory", "memory_traffic", "counters", "native_samples", "native_functions"),
    *("sample_sums", "operator_sums", "step_sums"),
}
MAIN, STEP = "/p/train.py:20/1 <module>", "/p/train.py:30/28 Trainer.step"
MODEL = "/p/model.py:88/80 Net.forward"


def traced(**meta: Any) -> Program:
    """Three steps of a model on a GPU."""
    whole_ns = STEPS * STEP_NS
    facts = {
        "start": {"monotonic_ns": START_NS, "cpu_ns": 0},
        "stop": {"monotonic_ns": START_NS + whole_ns, "cpu_ns": whole_ns},
        "gpu": {"devices": [{"name": "NVIDIA A100"}]},
    }
    program = Program(program={"argv": ["train.py"], "cwd": "/p", "pid": 1001}, **facts, **meta)
    program.end_ns = START_NS + whole_ns
    for forward_id, name in ((1, "MainThread"), (2, "autograd")):
        program.thread(forward_id, name)
    net = program.module("Net", "Net")
    forward = program.stack(NEXT + MAIN, STEP, (MODEL, program.module("fc", "Linear", net)))
    for number in range(STEPS):
        _step(program, START_NS + number * STEP_NS, number, forward)
    _beside(program, START_NS)
    return program


def _step(program: Program, at_ns: int, number: int, stack: int) -> None:
    """1 ms of forward, 4 ms of backward on another thread, an optimizer, a copy and three kernels."""
    inputs = program.signature(
        'f32[64,128] bf16[128,64]{1,128} (f32[2],f32[3]) (1,-1) dim=1 "sum" - alpha=float'
    )
    inside = op(
        "aten::addmm", at_ns + 200 * US, at_ns + 900 * US, stack=stack, sequence=number, signature=inputs
    )
    linear = op("aten::linear", at_ns + 100 * US, at_ns + MS, inside, stack=stack, sequence=number)
    begin_ns, end_ns = at_ns + 50 * US, at_ns + 2 * MS
    program.run(
        op("## forward ##", begin_ns, end_ns, linear, scope=USER_SCOPE, stack=program.stack(MAIN, STEP)),
        op("aten::zero_", at_ns + 8 * MS, at_ns + 9 * MS, stack=program.stack(MAIN, STEP)),
    )
    node = {"node_sequence": number, "node_thread": 1}
    multiply = op("aten::mm", at_ns + 3200 * US, at_ns + 6 * MS, **node)
    backward = op("AddmmBackward0", at_ns + 3100 * US, at_ns + 7 * MS, multiply)
    backward.fields = {"scope": 1, "sequence": number, "forward_thread": 1, **node}
    program.run(backward, thread=1)
    program.named_range(STEP_NAME, at_ns, at_ns + STEP_NS - US, source=int(RangeSource.PERFPROBE))
    launch = program.row("launches", 432, 1, 1, 128, 1, 1, 32, 1024, 512, 0)
    calls = ((300, 500, "gemm", 0), (3300, 3400, "gemm_backward", 1), (8100, 8200, "fill_kernel", 0))
    for offset, (call_us, kernel_us, name, thread) in enumerate(calls):
        begin_ns, correlation = at_ns + call_us * US, 10 * number + offset + 1
        program.api_call("cudaLaunchKernel", begin_ns, begin_ns + 20 * US, correlation, thread=thread)
        times = at_ns + kernel_us * US, at_ns + (kernel_us + 700) * US + offset
        program.kernel(name, *times, correlation, launch=launch)
    correlation = 10 * number + 9
    program.api_call("cuMemcpyHtoDAsync", at_ns + 8300 * US, at_ns + 8310 * US, correlation)
    program.copy(CopyKind.HOST_TO_DEVICE, at_ns + 9000 * US, at_ns + 9100 * US, correlation, stream=20)
    program.gpu_wait(WaitKind.STREAM, at_ns + 9200 * US, at_ns + 9400 * US, correlation)


def _beside(program: Program, at_ns: int) -> None:
    """Ranges of all kinds, samples, readings of processors, and what cannot be drawn."""
    program.named_range("load", at_ns + 10 * US, at_ns + 40 * US, domain="mine")
    program.named_range("to the end", at_ns + 10, -1)
    itt = int(RangeSource.ITT)
    program.named_range("request", at_ns + 500 * US, at_ns + 15 * MS, kind=int(RangeKind.FREE), source=itt)
    program.named_range("now", at_ns + 7 * US, at_ns + 7 * US, kind=int(RangeKind.MARK))
    program.named_range("gc", at_ns + 41 * US, at_ns + 42 * US, source=int(RangeSource.PYTHON))
    program.sample(at_ns, at_ns + MS, MAIN, STEP)
    program.sample(at_ns + MS, at_ns + 3 * MS, MAIN, STEP, MODEL)
    program.sample(at_ns + 3 * MS, at_ns + 4 * MS, MAIN)
    program.sample(at_ns, at_ns + 2 * MS, thread=1, look=1, stack=-1)
    memory = int(MemoryKind.DEVICE)
    program.copy(CopyKind.FILL, at_ns + 20 * MS, at_ns + 20 * MS + 5, -1, source=0, destination=memory)
    program.row("gpu_overheads", at_ns + 100, at_ns + 300, 1 << 16, anew=True)
    program.row("external_ids", 1, at_ns + 200 * US, anew=True)
    for number in range(3):
        threads = {0: (number * 900 * MS, number * 50 * MS)}
        program.reading(at_ns + number * 10 * MS, threads)
    program.losses.append(("operators", "something", 3, "do it"))


def write(program: Program, folder: Path, steps: str | None = None, name: str = "made") -> Path:
    """The trace of this recording."""
    recording, trace = folder / f"{name}.perfprobe", folder / f"{name}.json"
    recording.write_bytes(program.encode())
    trace.write_bytes(b"".join(Results(str(recording)).export("chrome", None, steps).parts))
    return trace


def document(trace: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(trace.read_bytes())
    return found


def differences(left: Recording, right: Recording) -> list[str]:
    """The columns in which two recordings differ; of losses those that only the left one has."""
    found = []
    for kind in IN_MEMORY:
        if kind is not Losses and kind.table_name not in LOST:
            found += _differing(left[kind], right[kind])
    operators = (Operators.concat(list(one.operators())) for one in (left, right))
    reasons = [one[Losses].reason.tolist() for one in (left, right)]
    return [*found, *_differing(*operators), *(text for text in reasons[0] if text not in reasons[1])]


def _differing(left: Table, right: Table) -> list[str]:
    columns = right.columns()
    pairs = ((name, column, columns[name]) for name, column in left.columns().items())
    return [f"{type(left).__name__}.{name}" for name, one, other in pairs if not np.array_equal(one, other)]


if __name__ == "__main__":  # for benchmarks/truth/export_figures.py
    target = Path(sys.argv[1])
    write(traced(), target.parent, name=target.stem)
