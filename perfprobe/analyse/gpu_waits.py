"""Finds when the program waited for GPUs: in synchronizing calls, and in copies of pageable memory."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.gpu import ApiCalls, Copies, GpuLinks, GpuWaits, MemoryKind, WaitKind
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

# AMD's records do not say which memory is pageable. This call returns when the copy has ended, as ROCm's
# documentation of HIP says ("Memory management", hipMemcpyWithStream).
_BLOCKS = "hipMemcpyWithStream"


def all_waits(recording: Recording, links: GpuLinks) -> tuple[GpuWaits, Int32]:
    """Returns the waits that CUPTI recorded and those inside copies, and the call of each (-1: none)."""
    waits, call = _inside_copies(recording, links)
    return GpuWaits.concat([recording[GpuWaits], waits]), np.concatenate([links.wait_call, call])


def _inside_copies(recording: Recording, links: GpuLinks) -> tuple[GpuWaits, Int32]:
    """Finds waits in copies from or to pageable memory that began before their call ended.

    The driver copies pageable memory through its own pinned memory, and CUPTI does not record that the caller
    waits. The wait lasts from the start of the call to the end of the call or the copy, whichever is earlier.
    A call that copies to a device ends a little before the copy, when the last part is in pinned memory. With
    a few kB it ends before the copy begins: that is no wait.
    """
    copies, calls = recording[Copies], recording[ApiCalls]
    rows = _last_of_each_call(recording, links)
    call = links.copy_call[rows]
    end_ns = np.minimum(copies.end_ns[rows], calls.end_ns[call])
    kept = (calls.start_ns[call] >= 0) & (calls.end_ns[call] > copies.start_ns[rows])
    kept &= (end_ns >= calls.start_ns[call]) & ~np.isin(call, links.wait_call[links.wait_call >= 0])
    rows, call, end_ns = rows[kept], call[kept], end_ns[kept]
    found = GpuWaits(
        start_ns=calls.start_ns[call],
        end_ns=end_ns,
        kind=np.full(len(rows), WaitKind.PAGEABLE_COPY, np.int8),
        context=copies.context[rows],
        stream=copies.stream[rows],
        correlation=copies.correlation[rows],
    )
    return found, call


def _last_of_each_call(recording: Recording, links: GpuLinks) -> Rows:
    """Returns the timed copies of pageable memory outside graphs; of several by one call the last."""
    copies = recording[Copies]
    pageable = (copies.source == MemoryKind.PAGEABLE) | (copies.destination == MemoryKind.PAGEABLE)
    blocks = recording[Strings].marks(_BLOCKS.__eq__)[recording[ApiCalls].name]
    pageable |= np.append(blocks, False)[links.copy_call]
    timed = (copies.start_ns >= 0) & (copies.end_ns >= copies.start_ns)
    rows = np.flatnonzero(pageable & timed & (copies.graph < 0) & (links.copy_call >= 0))
    latest_first = rows[np.argsort(-copies.end_ns[rows], kind="stable")]
    _, first = np.unique(links.copy_call[latest_first], return_index=True)
    return latest_first[first]
