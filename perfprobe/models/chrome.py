"""What perfprobe adds to the Chrome traces that it writes, so that it can read everything back.

The file has an additional entry with the tables that other tables refer to. Each event that stands for a row
of a recorded table has a list: the number of that table, then its columns. Other readers ignore both.
"""

from __future__ import annotations

from perfprobe.tables.columns import Table
from perfprobe.tables.events import Losses, Operators, Signatures, Threads
from perfprobe.tables.gpu import (
    ApiCalls,
    Copies,
    ExternalIds,
    GpuOverheads,
    GpuWaits,
    Kernels,
    KinetoLaunches,
    Launches,
)
from perfprobe.tables.python import Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

ENTRY = "perfprobe"  # key in the file, and in the args of an event
FORMAT = 1
NO_STREAM = 0xFFFFFFFF  # CUPTI's number of no stream, as Kineto of 2023 writes it

# Tables that are written whole, into the entry.
HELD: tuple[type[Table], ...] = (
    *(Strings, Frames, Modules, Stacks, Signatures, Threads, Launches, KinetoLaunches, ExternalIds, Losses),
)
# Tables whose rows are events. The number of a table is its index in this tuple.
EVENTS: tuple[type[Table], ...] = (
    *(Operators, Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads, Ranges, Samples),
)
_ENDS_APART = (Ranges, Samples)  # some of their events have no duration: open ranges, marks, moments
MOST_EXTERNAL = 1 << 19  # rows of ExternalIds; a larger table is not written

# Facts about a device: perfprobe's names, and the names in `deviceProperties` of Kineto's traces.
DEVICE_FACTS = {
    **{"name": "name", "memory_bytes": "totalGlobalMem"},
    **{"compute_major": "computeMajor", "compute_minor": "computeMinor", "warp_threads": "warpSize"},
    **{"multiprocessors": "numSms", "multiprocessor_threads": "maxThreadsPerMultiprocessor"},
    "multiprocessor_registers": "regsPerMultiprocessor",
    "multiprocessor_shared_bytes": "sharedMemPerMultiprocessor",
}


def columns(kind: type[Table]) -> tuple[str, ...]:
    """Returns the columns that the list of an event holds for a row of this table.

    The start is left out, and for most tables the end, because the event itself has both. An end in the list
    counts from the same moment as the times of the event; it is -1 if there is no end.
    """
    apart = () if kind in _ENDS_APART else ("end_ns",)
    return tuple(name for name in kind.dtypes if name not in ("start_ns", *apart))
