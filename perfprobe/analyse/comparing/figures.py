"""Measured numbers of both versions beside the step: start-up, memory, evaluations, compilation, GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from perfprobe.analyse.comparing.attribution import change
from perfprobe.analyse.comparing.counts import step_values
from perfprobe.analyse.comparing.sides import RunSide, Side
from perfprobe.models.compared import Change
from perfprobe.tables.columns import Int64
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.device_account import DeviceAccount, DeviceKind
from perfprobe.tables.gpu import CopyKind
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.steps import StepKind, StepTimes

_Of = Callable[[RunSide], float | None]


def figures(before: Side, after: Side, paired: bool, error: float) -> dict[str, Change]:
    """Those that all runs have, or all that were recorded."""
    found = {}
    for name, of_run in _FIGURES.items():
        for runs in ((before.runs, after.runs), (before.recorded, after.recorded)):
            known = [[each for run in side if (each := of_run(run)) is not None] for side in runs]
            if name not in found and all(known) and [*map(len, known)] == [*map(len, runs)]:
                found[name] = change(known[0], known[1], paired, error)
    return found


def _value(name: str) -> _Of:
    def of_run(run: RunSide) -> float | None:
        value = -1 if run.value is None else getattr(run.value, name)
        return value if value >= 0 else None

    return of_run


def _memory(run: RunSide) -> float | None:
    """The peak of the tensors' memory, of GPUs if there are any; else of the whole process."""
    value: RunValue | None = run.value
    known = [] if value is None else [value.device_bytes, value.tensor_bytes, value.resident_bytes]
    return next((each for each in known if each > 0), None)


def _evaluation(run: RunSide) -> float | None:
    times = run.found.get(StepTimes)
    if times is None:
        return None
    chosen = times.steps.kind == StepKind.EVALUATION
    return float((times.steps.end_ns - times.steps.start_ns)[chosen].mean()) if bool(chosen.any()) else None


def _compilation(run: RunSide) -> float | None:
    found = run.found.get(Compilations)
    times_ns = [] if found is None else [each.time_ns for each in found.functions]
    known = [each for each in times_ns if each is not None]
    return float(sum(known)) if known and len(known) == len(times_ns) else None


def _of_gpu(column: str) -> _Of:
    def of_run(run: RunSide) -> float | None:
        found = step_values(run, column)
        return None if found is None or len(found) == 0 else float(found.mean())

    return of_run


def _each_copy(run: RunSide) -> float | None:
    """The mean copy from host to device: batches go this way."""
    gpu = run.found.get(GpuFindings)
    if gpu is None:
        return None
    rows = gpu.copies.take((gpu.copies.kind == CopyKind.HOST_TO_DEVICE) & (gpu.copies.total_ns >= 0))
    timed = int((rows.copies - rows.untimed).sum())
    return float(rows.total_ns.sum() / timed) if timed > 0 else None


def _idle(run: RunSide) -> float | None:
    """The part of the GPU's time in which nothing ran."""
    account = run.found.get(DeviceAccount)
    if account is None or not account.of_steps or account.time_ns <= 0:
        return None
    idle: Int64 = account.leaves.time_ns[account.leaves.kind == DeviceKind.IDLE]
    return float(np.sum(idle) / account.time_ns)


_FIGURES: dict[str, _Of] = {
    "start_up": _value("start_up_ns"),
    "peak_memory": _memory,
    "evaluation": _evaluation,
    "compilation": _compilation,
    "gpu_kernels": _of_gpu("kernel_ns"),
    "gpu_copies": _of_gpu("copy_ns"),
    "gpu_copy": _each_copy,
    "gpu_idle": _idle,
}
BYTES: Sequence[str] = ("peak_memory",)
SHARES: Sequence[str] = ("gpu_idle",)
