"""Rule: what a GPU's time in the steps is: its operators and lines, and what it waits for.

The GPU's time is what steps are judged by if it takes part in them, because a step ends when its work has.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.models.kernel_names import group_of_kernel
from perfprobe.tables.columns import Int32, Mask, among, distinct
from perfprobe.tables.device_account import DeviceAccount, DeviceGroup, DeviceKind, device_group
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_verdict import GpuLimit, GpuVerdict
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.strings import Strings

_USED = 0.01  # of the steps: a GPU that does less has no part in them
_WORKED = 0.2  # of the time from its first to its last work, without steps
_UNJUDGED = (GpuLimit.LOST, GpuLimit.UNTIMED)
_IDLE = {
    Cause.DATA: (IdleCause.DATA,),
    Cause.COLLECTION: (IdleCause.COLLECTION,),
    Cause.COMPILE: (IdleCause.COMPILE,),
    Cause.SYNCHRONISED: (IdleCause.SYNC, IdleCause.PAGEABLE_COPY),
    Cause.LAUNCHES: (IdleCause.OPERATORS, IdleCause.PYTHON, IdleCause.LAUNCH, IdleCause.ALLOCATOR),
    Cause.BETWEEN_KERNELS: (IdleCause.BETWEEN_KERNELS,),
    Cause.UNEXPLAINED: (IdleCause.UNKNOWN,),
}
_WORK = {Cause.RANKS: DeviceKind.COMMUNICATION, Cause.COPIES: DeviceKind.COPY}


def base_of(account: DeviceAccount) -> Base:
    """What the shares of this account are of."""
    return Base.GPU if account.of_steps else Base.GPU_RUN


def judging_device(findings: Findings) -> DeviceAccount | None:
    """The account of the GPU that the program is judged by; None if that is the time of its own thread.

    Without steps it is the GPU only if that was in use in most of the run, and worked in a part of that.
    """
    account, verdict = findings.get(DeviceAccount), findings.get(GpuVerdict)
    if account is None or verdict is None or verdict.limit in _UNJUDGED:
        return None
    least = _USED if account.of_steps else _WORKED
    is_judged = account.of_steps or verdict.limit is not GpuLimit.SELDOM_USED
    return account if is_judged and account.share(account.busy_ns) >= least else None


def device(account: DeviceAccount, strings: Strings) -> Iterator[Diagnosis]:
    """A diagnosis for each part: all of the account together, each once."""
    leaves = account.leaves
    idle = leaves.kind == DeviceKind.IDLE
    for cause, causes in _IDLE.items():
        yield from _part(account, cause, idle & among(leaves.cause, causes))
    for cause, kind in _WORK.items():
        yield from _part(account, cause, leaves.kind == kind)
    yield from _computing(account, strings)


def _part(account: DeviceAccount, cause: Cause, chosen: Mask) -> Iterator[Diagnosis]:
    found = account.of(chosen)
    if found is not None and found.time_ns > 0:
        yield _of_group(account, found, cause)


def _computing(account: DeviceAccount, strings: Strings) -> Iterator[Diagnosis]:
    """The operators at each line that stand out, and for other lines all of them together.

    Kernels that no operator launched count as one at a line if they are variants of one.
    """
    rows = account.leaves.take(account.leaves.kind == DeviceKind.KERNEL)
    name = np.where(rows.operator >= 0, rows.operator, _first_alike(rows.name, strings))
    for frame in distinct(rows.frame).tolist():
        at_line = rows.frame == frame
        # Kernels without an operator say more than their line, which may launch a graph of a whole model.
        together = at_line & (frame >= 0) & (rows.operator >= 0)
        names = np.unique(name[at_line]).tolist()
        for each in names:
            own = at_line & (name == each)
            group = device_group(rows.take(own))
            if account.share(group.time_ns) >= STANDS_OUT or not bool(together[own].any()):
                yield _of_group(account, group, Cause.GPU_OPERATOR, each)
                together &= ~own
        if bool(together.any()):
            yield _of_group(account, device_group(rows.take(together)), Cause.LINE)


def _first_alike(name: Int32, strings: Strings) -> Int32:
    """For each kernel's name the first one that is a variant of the same kernel."""
    first: dict[str, int] = {}
    names, number = np.unique(name, return_inverse=True)
    known = [first.setdefault(group_of_kernel(strings[each]), each) for each in names.tolist()]
    return np.array(known, np.int32)[number.reshape(-1)] if known else name


def _of_group(account: DeviceAccount, found: DeviceGroup, cause: Cause, name: int = -1) -> Diagnosis:
    share = account.share(found.time_ns)
    return Diagnosis(
        cause=cause,
        base=base_of(account),
        time_ns=found.time_ns // account.steps,
        share=share,
        stands_out=share >= STANDS_OUT,
        gain=gain(share),
        frame=-1 if cause is Cause.UNEXPLAINED else found.frame,
        line_ns=found.line_ns // account.steps,
        phases={},
        steps=found.steps,
        name=name,
        group=found,
    )
