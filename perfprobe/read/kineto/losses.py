"""Losses of a trace: what it does not contain, and how to record it next time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from perfprobe.read.kineto.chunks import Chunks
from perfprobe.read.kineto.device import DeviceReader
from perfprobe.read.kineto.names import MOST_THREADS, Names
from perfprobe.read.kineto.operators import OperatorReader
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu import MOST_DEVICES

SOURCE = "trace"
_OURS = "record with perfprobe: python -m perfprobe script.py"
_MOST_CATEGORIES = 5


def losses(
    chunks: Chunks,
    operators: OperatorReader,
    device: DeviceReader,
    names: Names,
    skipped: Counter[str],
    unusable: int,
) -> Losses:
    """Makes the table.

    Args:
        skipped: number of events by category, for categories that are not read.
        unusable: number of events without a time or a thread.
    """
    rows = [
        *_of_file(chunks),
        *_of_events(names, skipped, unusable),
        *(_of_operators(operators) if operators.operators else ()),
        *(_of_device(device) if device.events else ()),
    ]
    sources, reasons, counts, remedies = zip(*rows, strict=True) if rows else ((),) * 4
    texts = [np.array(column, np.object_) for column in (sources, reasons, remedies)]
    return Losses(source=texts[0], reason=texts[1], count=np.array(counts, np.int64), remedy=texts[2])


Row = tuple[str, str, int, str]


def _of_file(chunks: Chunks) -> Iterator[Row]:
    if chunks.stopped is not None:
        reason = f"{chunks.stopped}: the part before is shown"
        yield "recording", reason, -1, "write it again, and copy it when the program has ended"
    if chunks.left_out:
        yield SOURCE, "facts behind the list of events: there are too many", -1, "write the trace again"
    if chunks.faster and chunks.parts > 1:
        yield SOURCE, "speed: the standard library read the trace", -1, chunks.faster
    if chunks.damaged:
        yield SOURCE, "damaged events were left out", chunks.damaged, "write the trace again"


def _of_events(names: Names, skipped: Counter[str], unusable: int) -> Iterator[Row]:
    if unusable:
        yield SOURCE, "events without a time, a duration or a thread were left out", unusable, ""
    if names.threads_left_out:
        reason = f"threads beyond the first {MOST_THREADS:,}: their operators were left out"
        yield SOURCE, reason, names.threads_left_out, ""
    if names.stacks.left_out or names.signatures.left_out:
        count = names.stacks.left_out + names.signatures.left_out
        yield SOURCE, "stacks and input shapes beyond the first 65,536 were left out", count, ""
    for category, count in skipped.most_common(_MOST_CATEGORIES):
        yield SOURCE, f"events of the category {category} are not read", count, ""


def _of_operators(found: OperatorReader) -> Iterator[Row]:
    yield SOURCE, "CPU time of operators: a trace has wall times only", -1, _OURS
    if not found.with_shapes:
        yield SOURCE, "input shapes", -1, "record with profile(record_shapes=True)"
    else:
        yield SOURCE, "devices of tensors, and names of arguments: a trace has neither", -1, _OURS
        if not found.with_strides:
            yield (
                SOURCE,
                "strides: this torch does not write them",
                -1,
                "record with torch 2.6 or newer",
            )
    yield from _of_lines(found)
    if not len(found.memory):
        yield SOURCE, "memory", -1, "record with profile(profile_memory=True)"
    elif found.memory.left_out():
        reason = "memory of the CPU and of other GPUs: reports show that of the GPU with most"
        yield SOURCE, reason, found.memory.left_out(), ""
    if not found.steps:
        yield SOURCE, "steps", -1, "call prof.step() at the end of each"


def _of_lines(found: OperatorReader) -> Iterator[Row]:
    if found.python_calls:
        reason = "lines within functions: a trace names a function by its first line"
        yield SOURCE, reason, found.operators, _OURS
    elif not found.with_call_stack:
        remedy = "record with profile(with_stack=True); perfprobe itself records exact lines"
        yield SOURCE, "Python stacks, and so source lines", -1, remedy
    if found.kernel_files and not found.python_calls:
        reason = (
            "lines of Triton's kernels: without Python stacks only their files are known, shown as line 1"
        )
        yield SOURCE, reason, found.kernel_files, "record with profile(with_stack=True), or with perfprobe"
    if found.lacks_forward:
        reason = "forward lines of backward: the trace has neither sequence numbers nor arrows to backward"
        yield SOURCE, reason, -1, "record with torch 1.9 or newer"


def _of_device(device: DeviceReader) -> Iterator[Row]:
    what = "results of CUDA calls, local memory of launches, and which copies were async: a trace has none"
    yield "gpu", what, -1, _OURS
    if not len(device.calls):
        reason = "launches: the trace has no calls of CUDA, so kernels have no operators and lines"
        remedy = "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
        yield "gpu", reason, device.events, remedy
    if not len(device.waits):
        remedy = "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"
        yield "gpu", "waits for the GPU, other than inside copies: the trace has no cuda_sync", -1, remedy
    if device.beyond_devices:
        reason = f"the device of kernels and copies: only numbers below {MOST_DEVICES} are read"
        yield "gpu", reason, device.beyond_devices, ""
    if device.without_sizes:
        yield "gpu", "grid and block of kernels: this version does not write them", device.without_sizes, ""
    if device.graph_launches and not device.of_graphs:
        yield "gpu", "nodes of CUDA graphs: the trace does not contain them", device.graph_launches, _OURS
