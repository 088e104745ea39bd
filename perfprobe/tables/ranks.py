"""What ranks of one run computed, said to each other, and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Table, column
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line


class Collectives(Table):
    """Collectives of one rank by start: on GPUs kernels of NCCL, else ranges like `gloo:all_reduce`."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    name: Int32 = column("the range it was asked for in, `nccl:all_reduce`", Strings)
    size_bytes: Int64 = column("size of its input tensors", optional=True)


@frozen
class RankParts:
    """One rank in its steps, or in all of its recording if it has no steps. Times are wall times.

    Attributes:
        start_ns: when the first step began, or the recording.
        whole_ns: until the end of the last one.
        computing_ns: time in operators, or on GPUs in kernels, without communication.
        communicating_ns: time in collectives.
        overlapped_ns: the part of both in which the other one ran too.
        lines: time of the steps' thread by line, outside of collectives; by samples, or without them by
            operators.
    """

    collectives: Collectives
    start_ns: int
    whole_ns: int
    steps: int
    computing_ns: int
    communicating_ns: int
    overlapped_ns: int
    on_gpu: bool
    lines: Mapping[Line, int]


@frozen
class Rank:
    """One rank beside the others.

    Attributes:
        rank: its number; None if the recording does not say.
        clock_ns: what its clock is ahead of the first rank's; 0 on the same host.
        clock_error_ns: the median distance of the ends of collectives after that; None for the first rank.
        waited_ns: time in collectives beyond that of the fastest rank.
        transfer_ns: the rest of the time in collectives.
        lost_ns: by how much it was the last to begin collectives, summed.
        phase: the phase in which its steps take most longer than those of the others; "" if it has no steps.
        phase_ns: by how much, for each step.
        line: the line in which it spends most more than the others outside of collectives; None if none is
            known.
        line_ns: by how much, for each step.
    """

    path: str
    rank: int | None
    host: str
    parts: RankParts
    median_ns: int | None
    clock_ns: int = 0
    clock_error_ns: int | None = None
    waited_ns: int = 0
    transfer_ns: int = 0
    lost_ns: int = 0
    phase: str = ""
    phase_ns: int = 0
    line: Line | None = None
    line_ns: int = 0


@frozen
class CollectiveKind:
    """Collectives of one name in all ranks.

    Attributes:
        calls: in each rank, as far as all ranks have them.
        size_bytes: of all calls of one rank; None if not known.
        total_ns: mean over the ranks of their time.
        transfer_ns: time of the fastest rank of each call.
        bus_bytes: what each rank sends in all calls, as nccl-tests counts it; None if not known.
    """

    name: str
    calls: int
    size_bytes: int | None
    total_ns: int
    transfer_ns: int
    bus_bytes: float | None


@frozen
class Ranks:
    """All ranks that were given.

    Attributes:
        world_size: how many there were in the run; None if no recording says.
        unmatched: collectives that not all ranks have.
        straggler: the place in `ranks` of the one that cost the others over 1 % of the time; None if none.
    """

    ranks: Sequence[Rank]
    kinds: Sequence[CollectiveKind]
    world_size: int | None
    unmatched: int
    straggler: int | None
