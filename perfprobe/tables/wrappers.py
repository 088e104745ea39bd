"""Parts of the program's time that torch's wrappers for several GPUs took: DDP and FSDP."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.tables.columns import Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads


class Wrapper(IntEnum):
    """Whose communication it is."""

    NONE = 0  # the program's own, or not known
    DDP = 1
    FSDP = 2


WRAPPER_TEXTS: dict[int, str] = {Wrapper.DDP: "DDP", Wrapper.FSDP: "FSDP"}


class WrapperSpans(Table):
    """When a wrapper's own code ran; by thread and time, those of one kind and thread not within each other.

    Of FSDP its ranges (`FSDP::all_gather`, `FullyShardedDataParallel._pre_forward`), of DDP the operators
    that reduce gradients; and DDP's forward, in which broadcasts of buffers are its own.
    """

    wrapper: Int8 = column("a `Wrapper`")
    is_forward: Int8 = column("1: a whole forward of DDP")
    thread: Int32 = column("which thread ran it", Threads)
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
