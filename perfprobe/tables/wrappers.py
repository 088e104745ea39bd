"""When the code of torch's wrappers for several GPUs ran: DDP and FSDP."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.tables.columns import Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads


class Wrapper(IntEnum):
    """The wrapper that a kernel communicates for."""

    NONE = 0  # communication of the program itself, or not known
    DDP = 1
    FSDP = 2


WRAPPER_TEXTS: dict[int, str] = {Wrapper.DDP: "DDP", Wrapper.FSDP: "FSDP"}


class WrapperSpans(Table):
    """When the code of a wrapper ran, sorted by wrapper, kind, thread and time.

    For FSDP these are its ranges (`FSDP::all_gather`, `FullyShardedDataParallel._pre_forward`). For DDP they
    are the operators that reduce gradients, and whole forwards, in which only broadcasts belong to DDP: it
    broadcasts buffers there. Spans of one kind in one thread do not contain each other.
    """

    wrapper: Int8 = column("a `Wrapper`")
    is_forward: Int8 = column("the kind: 1 for a whole forward of DDP, 0 for others")
    thread: Int32 = column("the thread that ran it", Threads)
    start_ns: Int64 = column("when it started")
    end_ns: Int64 = column("when it ended")
