"""The account of the leading loop: what its thread did, in parts that sum to the time of its steps."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.steps import StepPhase


class LeafKind(IntEnum):
    """What a part of the account is."""

    LINE = 0  # work of a line of the program: its operators in all phases, and its Python
    DATA = 1  # waiting for data, or making it
    COLLECTION = 2  # Python's garbage collection
    COMPILE = 3  # torch.compile
    PROCESSOR = 4  # waiting for a processor
    UNEXPLAINED = 5  # between operators, where no sample shows what the thread did
    IMPORT = 6  # of a library
    RANKS = 7  # waiting for other ranks
    LOCK = 8  # waiting for Python's lock, which lets one thread run at a time
    GPU = 9  # waiting for a GPU


LEAF_TEXTS = {
    LeafKind.LINE: "work of no line",
    LeafKind.DATA: "data",
    LeafKind.COLLECTION: "garbage collection",
    LeafKind.COMPILE: "torch.compile",
    LeafKind.PROCESSOR: "waiting for a processor",
    LeafKind.UNEXPLAINED: "not explained",
    LeafKind.IMPORT: "imports of libraries",
    LeafKind.RANKS: "waiting for other ranks",
    LeafKind.LOCK: "waiting for Python's lock",
    LeafKind.GPU: "waiting for the GPU",
}


class Leaves(Table):
    """Disjoint parts of the time of the leading loop's thread, in the steps that count.

    Waiting for a processor is a row of its own. It is not measured if there is no such row. Waiting is taken
    out of the other rows where samples saw the thread stand still.
    """

    kind: Int8 = column("a `LeafKind`")
    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it, -1 if none was seen", Frames)
    module: Int32 = column("the nn.Module of its operators, -1 none", Modules)
    time_ns: Int64 = column("its time, without waiting for a processor", combine=Combine.SUM)
    operators_ns: Int64 = column("the part of time_ns that was measured in operators", combine=Combine.SUM)
    waited_ns: Int64 = column("waiting for a processor that was taken out of it", combine=Combine.SUM)
    error_ns: Int64 = column("error of time_ns by sampling: two standard deviations")
    steps: Int64 = column(
        "number of steps with its operators; of waits the fewest with nine tenths of the time",
        optional=True,
    )


class Group(NamedTuple):
    """Rows of the account together.

    frame: the line with most of the time, line_ns. operators_ns, error_ns: as in `Leaves`. phases: the time
    in each, most first.
    """

    frame: int
    line_ns: int
    time_ns: int
    operators_ns: int
    error_ns: int
    steps: int
    phases: dict[StepPhase, int]


@frozen
class Account:
    """The rows, and what they are of.

    steps: the number of steps that count. time_ns: of these steps. waited_ns: the part in which the thread
    waited for a processor, None if not measured. of_workers_ns: the part of waited_ns in which it waited for
    data while a worker waited for a processor. own_ns: the rest, which is what shares are of.
    """

    leaves: Leaves
    steps: int
    time_ns: int
    waited_ns: int | None
    of_workers_ns: int = 0

    @property
    def own_ns(self) -> int:
        """The time of the steps without waiting for a processor."""
        return self.time_ns - (self.waited_ns or 0)

    def share(self, time_ns: int) -> float:
        """Returns a share of `own_ns`."""
        return time_ns / max(self.own_ns, 1)

    def error(self, part: Group) -> float:
        """Returns two standard deviations of the share of a part.

        What a part has too much is what the rest has too little: so it is at most the rest, or its error.
        """
        errors_ns = self.leaves.error_ns.astype(np.float64)
        rest_ns = float(np.sqrt(max((errors_ns**2).sum() - float(part.error_ns) ** 2, 0)))
        return min(part.error_ns, max(rest_ns, self.own_ns - part.time_ns)) / max(self.own_ns, 1)

    def of(self, kind: LeafKind) -> Group | None:
        """All rows of one kind; its frame is the one with most of the time. None without rows."""
        rows = self.leaves.take(self.leaves.kind == kind)
        return group(rows) if len(rows) else None

    def lines(self) -> list[Group]:
        """The lines of the program, most time first."""
        rows = self.leaves.take((self.leaves.kind == LeafKind.LINE) & (self.leaves.frame >= 0))
        order = np.argsort(rows.frame, kind="stable")
        first = np.flatnonzero(np.diff(rows.frame[order], prepend=-1))
        found = [group(rows.take(own)) for own in np.split(order, first[1:])] if len(rows) else []
        return sorted(found, key=lambda each: -each.time_ns)

    def phases(self) -> dict[StepPhase, int]:
        """The time of each phase, most first, without waiting for a processor."""
        rows = self.leaves.take(self.leaves.kind != LeafKind.PROCESSOR)
        return _by_phase(rows)


def group(rows: Leaves) -> Group:
    """These rows as one. Its frame is the one with most of the time."""
    frames: dict[int, int] = {}
    for at, time_ns in zip(rows.frame.tolist(), rows.time_ns.tolist(), strict=True):
        frames[at] = frames.get(at, 0) + time_ns
    error_ns = round(float(np.sqrt((rows.error_ns.astype(np.float64) ** 2).sum())))
    frame = max(frames, key=frames.__getitem__)
    return Group(
        frame,
        frames[frame] if frame >= 0 else 0,
        int(rows.time_ns.sum()),
        int(rows.operators_ns.sum()),
        error_ns,
        int(rows.steps.max()),
        _by_phase(rows),
    )


def _by_phase(rows: Leaves) -> dict[StepPhase, int]:
    sums_ns = np.zeros(len(StepPhase), np.int64)
    np.add.at(sums_ns, rows.phase, rows.time_ns)
    order = np.argsort(-sums_ns, kind="stable")
    return {StepPhase(phase): int(sums_ns[phase]) for phase in order.tolist() if sums_ns[phase] > 0}
