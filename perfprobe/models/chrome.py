"""What our own Chrome traces hold beside what those of Kineto do, so that all of it can be read back.

The file has an entry of ours with the tables that others refer to; each event that is a row of a recorded
table has a list: the number of that table, then its columns. Other readers see neither.
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

ENTRY = "perfprobe"  # of the file, and of an event's args
FORMAT = 1

# Written whole.
HELD: tuple[type[Table], ...] = (
    *(Strings, Frames, Modules, Stacks, Signatures, Threads, Launches, KinetoLaunches, ExternalIds, Losses),
)
# Their rows are events; the number of a table is its place.
EVENTS: tuple[type[Table], ...] = (
    *(Operators, Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads, Ranges, Samples),
)
_ENDS_APART = (Ranges, Samples)  # what is open, a mark or a moment has no duration as an event
MOST_EXTERNAL = 1 << 20

# Facts about a device: our names, and those of `deviceProperties` in Kineto's traces.
DEVICE_FACTS = {
    **{"name": "name", "memory_bytes": "totalGlobalMem"},
    **{"compute_major": "computeMajor", "compute_minor": "computeMinor", "warp_threads": "warpSize"},
    **{"multiprocessors": "numSms", "multiprocessor_threads": "maxThreadsPerMultiprocessor"},
    "multiprocessor_registers": "regsPerMultiprocessor",
    "multiprocessor_shared_bytes": "sharedMemPerMultiprocessor",
}


def columns(kind: type[Table]) -> tuple[str, ...]:
    """What the list of an event has of a table; start, and mostly end, are the event's own times.

    Where the end is in it, it counts from the same moment as those; -1 is none.
    """
    apart = () if kind in _ENDS_APART else ("end_ns",)
    return tuple(name for name in kind.dtypes if name not in ("start_ns", *apart))
