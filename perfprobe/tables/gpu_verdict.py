"""What limits a program that uses GPUs, judged by the busiest one."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen


class GpuLimit(Enum):
    """What the limit is, from the GPU's first to its last work."""

    LOST = "lost"  # not known: records of its work are lost
    UNTIMED = "untimed"  # not known: some of its work has no times
    SELDOM_USED = "seldom used"  # it was used in a smaller part of the run
    COPYING = "copying"
    COMMUNICATION = "communication"
    COMPUTING = "computing"
    BOTH = "both"  # the GPU and the program wait for each other
    PROGRAM = "program"


@frozen(kw_only=True)
class GpuVerdict:
    """What the busiest GPU did.

    device: the driver's number, None if not known. busy_ns: its time. span_ns: from its first to its last
    work. busy, computing, communication, copying: shares of span_ns; busy: any of the three. is_shared: for
    copying and communication, whether computing takes at least as long, so that both limit. hardly_idle:
    whether it was busy nearly all the time. is_bound: whether computing limits the program, in most of the
    run. waited_ns: how long the program waited for GPUs. most_nodes: of a graph, if recording each of its
    kernels costs much, else 0.
    """

    limit: GpuLimit
    device: int | None
    busy_ns: int
    span_ns: int
    busy: float
    computing: float
    communication: float
    copying: float
    is_shared: bool
    hardly_idle: bool
    is_bound: bool
    waited_ns: int
    most_nodes: int
