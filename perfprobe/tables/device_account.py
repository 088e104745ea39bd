"""The account of a GPU: what it did in the leading loop's steps, in parts that sum to their time."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings


class DeviceKind(IntEnum):
    """What a GPU did. Of work that runs at the same time the first of these counts."""

    KERNEL = 0  # it computed
    COMMUNICATION = 1  # kernels that communicate, while none computed
    COPY = 2  # copies and fills, while no kernel ran
    IDLE = 3


class DeviceLeaves(Table):
    """Disjoint parts of a GPU's time. Kernels of one kind that run at the same time share it equally."""

    kind: Int8 = column("a `DeviceKind`")
    cause: Int8 = column("of idle time an `IdleCause`, else -1")
    copy: Int8 = column("of copies a `CopyKind`, else -1")
    name: Int32 = column(
        "of work the kernel; of idle time the function of CUDA's API there, -1 none", Strings
    )
    operator: Int32 = column("the operator that launched it, or that ran on the host, -1 none", Strings)
    signature: Int32 = column("its inputs", Signatures)
    frame: Int32 = column("the user's line, in backward that of the forward call, -1 if not known", Frames)
    phase: Int8 = column("a `Phase`")
    module: Int32 = column("the nn.Module of the operator that launched it, -1 none", Modules)
    time_ns: Int64 = column("its time", combine=Combine.SUM)
    steps: Int64 = column("number of steps that have some of it")


@frozen
class DeviceAccount:
    """The parts of one GPU's time.

    device: the driver's number. of_steps: whether it is the time of the leading loop's steps that count, each
    until the work that it launched has ended; else it is from the GPU's first work to its last, because less
    than half of its work is in steps. steps: their number, 1 without. time_ns: of all together.
    """

    leaves: DeviceLeaves
    device: int
    of_steps: bool
    steps: int
    time_ns: int

    @property
    def busy_ns(self) -> int:
        """For how long anything ran."""
        return int(self.leaves.time_ns[self.leaves.kind != DeviceKind.IDLE].sum())

    def share(self, time_ns: int) -> float:
        """Returns a share of `time_ns`."""
        return time_ns / max(self.time_ns, 1)

    def of(self, chosen: Mask) -> DeviceGroup | None:
        """These leaves as one; None without any."""
        return device_group(self.leaves.take(chosen)) if bool(chosen.any()) else None


@frozen
class DeviceGroup:
    """Leaves of a GPU together.

    frame: the line with most of the time, line_ns, -1 if no line is known. steps: the most that any has.
    """

    leaves: DeviceLeaves
    time_ns: int
    frame: int
    line_ns: int
    steps: int


def device_group(rows: DeviceLeaves) -> DeviceGroup:
    """These leaves as one."""
    frames, at = np.unique(rows.frame, return_inverse=True)
    sums_ns = np.bincount(at, rows.time_ns, len(frames)) * (frames >= 0)
    most = int(sums_ns.argmax())
    return DeviceGroup(
        rows,
        int(rows.time_ns.sum()),
        int(frames[most]) if sums_ns[most] > 0 else -1,
        int(sums_ns[most]),
        int(rows.steps.max()),
    )
