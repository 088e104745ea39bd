"""The rules about a GPU's time, for accounts made by hand: what triggers each, and what nearly does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from perfprobe.diagnose.device import device, judging_device
from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.merge import link
from perfprobe.tables.device_account import DeviceAccount, DeviceKind, DeviceLeaves
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_verdict import GpuLimit, GpuVerdict
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from tests.analyse.account.test_device import Training
from tests.found import find

STEPS = 10
Part = tuple[int, int, int, int]  # cause of idle time or -1, operator, frame, percent of the time


def account_of(parts: Sequence[Part], *, of_steps: bool = True) -> DeviceAccount:
    """An account with these parts; the rest of 100 percent are kernels of 1 percent without a line."""
    left = 100 - sum(part[3] for part in parts)
    rows = [*parts, *((-1, 1000 + at, -1, 1) for at in range(left))]
    cause, operator, frame, percent = (np.array(column) for column in zip(*rows, strict=True))
    known = {name: np.full(len(rows), -1, dtype) for name, dtype in DeviceLeaves.dtypes.items()}
    known |= {
        "kind": np.where(cause >= 0, DeviceKind.IDLE, DeviceKind.KERNEL).astype(np.int8),
        "cause": cause.astype(np.int8),
        "operator": operator.astype(np.int32),
        "frame": frame.astype(np.int32),
        "time_ns": percent.astype(np.int64) * 10_000,
        "steps": np.full(len(rows), STEPS, np.int64),
    }
    return DeviceAccount(DeviceLeaves(**known), 0, of_steps, STEPS, int(known["time_ns"].sum()))


def kernel(percent: int, operator: int = 1, frame: int = 1) -> Part:
    return -1, operator, frame, percent


def idle(cause: IdleCause, percent: int, frame: int = 2) -> Part:
    return cause, -1, frame, percent


def judged(parts: Sequence[Part], findings: Findings) -> Diagnoses:
    """What is said of a program with steps whose GPU did this."""
    return diagnosed(findings.plus(account_of(parts)))[Diagnoses]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Of a program with steps and a GPU."""
    program = Training().program
    return find(link(program.recording(tmp_path_factory.mktemp("gpu"))), StepTimes, GpuFindings)


@pytest.mark.parametrize(
    ("parts", "cause", "share"),
    [
        ([kernel(20)], Cause.GPU_OPERATOR, 0.2),
        ([kernel(19)], None, 0),
        ([kernel(12, operator=1), kernel(12, operator=2)], Cause.LINE, 0.24),
        ([kernel(12, operator=1), kernel(12, operator=2), kernel(30, operator=3)], Cause.GPU_OPERATOR, 0.3),
        ([kernel(70), idle(IdleCause.DATA, 20)], Cause.DATA, 0.2),  # a wait comes before work
        ([kernel(70), idle(IdleCause.DATA, 19)], Cause.GPU_OPERATOR, 0.7),
        # Launches at all lines are one wait; so is idle time after waiting.
        ([kernel(50), idle(IdleCause.OPERATORS, 15), idle(IdleCause.PYTHON, 9, 3)], Cause.LAUNCHES, 0.24),
        ([kernel(50), idle(IdleCause.SYNC, 15), idle(IdleCause.PAGEABLE_COPY, 9)], Cause.SYNCHRONISED, 0.24),
        ([kernel(5), idle(IdleCause.PYTHON, 90)], Cause.LAUNCHES, 0.9),  # bound by launches
        ([kernel(30), idle(IdleCause.UNKNOWN, 60)], Cause.GPU_OPERATOR, 0.3),
        ([kernel(10), idle(IdleCause.UNKNOWN, 60)], Cause.UNEXPLAINED, 0.6),
        ([idle(IdleCause.BETWEEN_KERNELS, 25)], Cause.BETWEEN_KERNELS, 0.25),
    ],
)
def test_slow_is_the_largest_wait_or_else_the_largest_work(
    parts: Sequence[Part], cause: Cause | None, share: float, findings: Findings
) -> None:
    found = judged(parts, findings)
    assert found.base is Base.GPU
    slow = found.slow
    if cause is None:
        assert slow is None
        return
    assert slow is not None
    assert (slow.cause, slow.base) == (cause, Base.GPU)
    assert slow.share == pytest.approx(share)
    assert slow.gain == pytest.approx(1 / (1 - share))
    second = found.second
    assert second is None or (second.base is Base.GPU and second.share + slow.share <= 1)


def test_all_parts_are_in_one_diagnosis_each() -> None:
    parts = [kernel(30), kernel(5, 2), kernel(4, 3), kernel(20, 4, 5), idle(IdleCause.DATA, 7)]
    found = list(device(account_of(parts), Strings.empty()))
    assert sum(each.share for each in found) == pytest.approx(1)
    assert {each.frame for each in found if each.cause is Cause.LINE} == {1}


def test_a_gpu_without_a_part_in_the_steps_judges_nothing(findings: Findings) -> None:
    verdict = findings[GpuVerdict]
    account = account_of([idle(IdleCause.PYTHON, 100)])
    assert judging_device(findings.plus(account)) is None
    for limit in (GpuLimit.LOST, GpuLimit.UNTIMED):
        lost = replace(verdict, limit=limit)
        assert judging_device(findings.plus(account_of([kernel(50)]), lost)) is None


def test_without_steps_only_a_gpu_that_works_most_of_the_time_judges(findings: Findings) -> None:
    verdict, account = findings[GpuVerdict], account_of([kernel(50)], of_steps=False)
    judging = set(GpuLimit) - {GpuLimit.SELDOM_USED, GpuLimit.LOST, GpuLimit.UNTIMED}
    seldom = account_of([kernel(10), idle(IdleCause.PYTHON, 90)], of_steps=False)
    assert judging_device(findings.plus(seldom, replace(verdict, limit=GpuLimit.PROGRAM))) is None
    for limit in GpuLimit:
        known = findings.plus(account, replace(verdict, limit=limit))
        assert (judging_device(known) is not None) == (limit in judging)
