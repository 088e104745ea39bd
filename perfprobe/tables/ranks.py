"""What the ranks of one run computed, communicated, and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Table, Text, column
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line


class Collectives(Table):
    """Collectives of one rank by start: NCCL's kernels on GPUs, otherwise ranges like `gloo:all_reduce`."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    name: Int32 = column("the range that started it, `nccl:all_reduce`", Strings)
    size_bytes: Int64 = column("size of its input tensors; in a trace, of its message", optional=True)
    group: Text = column("name of its process group, '' if not known")
    group_size: Int64 = column("ranks in that group", optional=True)


@frozen
class RankParts:
    """One rank during its steps, or during its whole recording if it has no steps. Times are wall time.

    Attributes:
        start_ns: when the first step, or the recording, began.
        whole_ns: the time from then to the end of the last step, or of the recording.
        computing_ns: time in operators, or on GPUs in kernels, without communication.
        communicating_ns: time in collectives.
        overlapped_ns: the time in which both ran.
        lines: by line, the time of the steps' thread outside of collectives; by samples, without them by
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
    """One rank compared with the others.

    Attributes:
        rank: its number; None if not known.
        clock_ns: how far its clock is ahead of the first rank's; 0 on the same host.
        clock_error_ns: the median distance of the ends of collectives once clocks are aligned; None for the
            first rank.
        waited_ns: time in collectives beyond that of the fastest rank.
        transfer_ns: the rest of the time in collectives.
        lost_ns: how long it was the last to begin collectives; those that overlap count once.
        phase: the phase in which its steps exceed those of the others the most; "" if it has no steps.
        phase_ns: by how much, in each step.
        line: the line in which its time outside of collectives exceeds that of the others the most; None if
            none is known.
        line_ns: by how much, in each step.
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
    """Collectives of one name and process group in all ranks.

    Attributes:
        group: name of the process group; "" if not known.
        calls: calls in each rank that all ranks have.
        size_bytes: of all calls of one rank; None if not known.
        total_ns: their time, as the mean over ranks.
        transfer_ns: the time of the fastest rank of each call, summed.
        bus_bytes: what each rank sends in all calls, counted as in nccl-tests; None if not known.
    """

    name: str
    group: str
    calls: int
    size_bytes: int | None
    total_ns: int
    transfer_ns: int
    bus_bytes: float | None


@frozen
class Ranks:
    """All ranks that were given.

    Attributes:
        world_size: how many ranks the run had; None if not known.
        unmatched: collectives that not all ranks have.
        straggler: the place in `ranks` of the one that cost the others over 1 % of the time; None if there is
            none.
    """

    ranks: Sequence[Rank]
    kinds: Sequence[CollectiveKind]
    world_size: int | None
    unmatched: int
    straggler: int | None
