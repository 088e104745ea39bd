"""Time between operators: what samples show there, by place in the user's code."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames, Stacks


class Doing(IntEnum):
    """What a thread does between operators."""

    UNKNOWN = 0
    IMPORT = 1
    WAIT = 2
    RUN = 3


class Activities(Table):
    """What samples show most often in some intervals."""

    doing: Int8 = column("a `Doing`")
    stack: Int32 = column("a stack that shows it; for an import the stack that imports", Stacks)
    body: Int32 = column("for an import, the stack that runs the module's code, -1 if not seen", Stacks)
    doing_ns: Int64 = column("time of the samples that show it", combine=Combine.SUM)
    sampled_ns: Int64 = column("time of all samples in the intervals", combine=Combine.SUM)
    looks: Int64 = column("number of all samples in the intervals", combine=Combine.SUM)

    @classmethod
    def none(cls, rows: int) -> Activities:
        """Returns rows without samples, one for each interval."""
        zeros = {name: np.zeros(rows, dtype) for name, dtype in cls.dtypes.items()}
        return cls(**{**zeros, **{name: np.full(rows, -1, np.int32) for name in ("stack", "body")}})


class Intervals(Activities):
    """Time between consecutive outermost operators, by place in the user's code.

    The lines are those at which the function that contains both operators called the one before and the one
    after.
    """

    frame: Int32 = column("the line that called the operator before, -1 if not known", Frames)
    to_frame: Int32 = column("the line that called the operator after, -1 if not known", Frames)
    caller: Int32 = column("the line that called that function", Frames)
    count: Int64 = column("number of intervals", combine=Combine.SUM)
    total_ns: Int64 = column("their total time", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest of them", combine=Combine.MOST)


@frozen
class Between:
    """Time outside of operators on the thread with most time in them.

    before_ns, after_ns: before the first operator, and after the last; None if not known. outer: what samples
    show in these two. threads: number of threads that ran operators.
    """

    rows: Intervals
    outer: Activities
    threads: int
    before_ns: int | None
    after_ns: int | None

    @property
    def total_ns(self) -> int:
        """The time between operators, before the first and after the last."""
        return int(self.rows.total_ns.sum()) + (self.before_ns or 0) + (self.after_ns or 0)
