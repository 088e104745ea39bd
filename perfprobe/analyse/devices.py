"""How busy each GPU was, and what was launched in each training step."""

from __future__ import annotations

import numpy as np

from perfprobe.models.communication import communicates
from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.gpu import ApiCalls, Copies, GpuLinks, GpuWaits, Kernels
from perfprobe.tables.gpu_findings import DeviceRows, StepCounts
from perfprobe.tables.intervals import around
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import Steps
from perfprobe.tables.strings import Strings


def device_rows(recording: Recording) -> DeviceRows:
    """A row for each device, the busiest first. Records without times are counted, but add no time."""
    kernels, copies, sends = recording[Kernels], recording[Copies], communicating(recording)
    devices = distinct(np.append(distinct(kernels.device), distinct(copies.device))).tolist()  # few
    found = DeviceRows.concat(
        [
            _device(number, kernels.take(own), copies.take(copies.device == number), sends[own])
            for number in devices
            for own in [kernels.device == number]
        ]
    )
    return found.take(np.argsort(-found.busy_ns, kind="stable"))


def step_counts(
    recording: Recording, links: GpuLinks, steps: Steps, all_waits: GpuWaits, wait_call: Int32
) -> StepCounts:
    """A row for each step, in order, and a last one for what was launched outside of steps, if anything.

    Args:
        wait_call: for each wait the row of `ApiCalls` that made it, -1 none.
    """
    begun_ns = np.append(recording[ApiCalls].start_ns, np.int64(-1))
    kernel_step = _step(steps, begun_ns[links.kernel_call])
    copy_step = _step(steps, begun_ns[links.copy_call])
    wait_step = _step(steps, np.where(wait_call >= 0, begun_ns[wait_call], all_waits.start_ns))
    rows = len(steps) + 1  # the last one: outside of steps
    kernels, kernel_ns = _counts(recording[Kernels], kernel_step, rows)
    copies, copy_ns = _counts(recording[Copies], copy_step, rows)
    waits, wait_ns = _counts(all_waits, wait_step, rows)
    found = StepCounts(
        step=np.append(np.arange(len(steps), dtype=np.int32), np.int32(-1)),
        kernels=kernels,
        kernel_ns=kernel_ns,
        copies=copies,
        copy_ns=copy_ns,
        copied_bytes=_sum_by_step(np.maximum(recording[Copies].size_bytes, 0), copy_step, rows),
        waits=waits,
        wait_ns=wait_ns,
    )
    is_any = kernels[-1] + copies[-1] + waits[-1] > 0
    return found if is_any else found.take(slice(0, -1))


def communicating(recording: Recording) -> Mask:
    """Which kernels communicate with other GPUs. Only the names of kernels are looked at."""
    strings, names = recording[Strings], recording[Kernels].name
    different, number = np.unique(names, return_inverse=True)
    found = np.array([communicates(strings[name]) for name in different.tolist()], np.bool_)
    return found[number.reshape(-1)]


def _device(device: int, kernels: Kernels, copies: Copies, sends: Mask) -> DeviceRows:
    start_ns, end_ns = timed(kernels, copies)
    streams = np.concatenate([kernels.stream, copies.stream])
    values = {
        "kernels": len(kernels),
        "kernel_ns": _total(kernels),
        "copies": len(copies),
        "copy_ns": _total(copies),
        "copied_bytes": int(np.maximum(copies.size_bytes, 0).sum()),
        "streams": len(distinct(streams)),
        "busy_ns": _open_ns(kernels, copies),
        "first_ns": int(start_ns.min()) if len(start_ns) else -1,
        "last_ns": int(end_ns.max()) if len(start_ns) else -1,
        "computing_ns": _open_ns(kernels.take(~sends)),
        "communication_ns": _open_ns(kernels.take(sends)),
        "copying_ns": _open_ns(copies),
    }
    columns = {name: np.array([value], np.int64) for name, value in values.items()}
    return DeviceRows(device=np.array([device], np.int32), **columns)


def timed(*tables: Kernels | Copies) -> tuple[Int64, Int64]:
    """Start and end of all rows that have times, in ns."""
    timed = [rows.take(duration_ns(rows) >= 0) for rows in tables]
    return (
        np.concatenate([rows.start_ns for rows in timed]),
        np.concatenate([rows.end_ns for rows in timed]),
    )


def _open_ns(*tables: Kernels | Copies) -> int:
    """Returns how long at least one row was running, in ns; -1 if there are rows, but none has times."""
    start_ns, end_ns = timed(*tables)
    return union_ns(start_ns, end_ns) if len(start_ns) or not any(map(len, tables)) else -1


def union_ns(start_ns: Int64, end_ns: Int64) -> int:
    """The length of the union of these intervals, in ns."""
    if bool((start_ns[1:] < start_ns[:-1]).any()):
        order = np.argsort(start_ns, kind="stable")
        start_ns, end_ns = start_ns[order], end_ns[order]
    # Each adds what earlier intervals have not covered when it begins.
    begin_ns = np.maximum(start_ns[1:], np.maximum.accumulate(end_ns)[:-1])
    first_ns = np.maximum(end_ns[:1] - start_ns[:1], 0).sum()
    return int(first_ns + np.maximum(end_ns[1:] - begin_ns, 0).sum())


def duration_ns(rows: Kernels | Copies | GpuWaits | ApiCalls) -> Int64:
    """Returns how long each row took, in ns; -1 if it has no times."""
    timed = (rows.start_ns >= 0) & (rows.end_ns >= rows.start_ns)
    return np.where(timed, rows.end_ns - rows.start_ns, -1)


def _total(rows: Kernels | Copies) -> int:
    """The time of all rows, in ns; -1 if none has times."""
    _, total_ns = _counts(rows, np.zeros(len(rows), np.int64), 1)
    return int(total_ns[0])


def _step(steps: Steps, time_ns: Int64) -> Int64:
    """The step at each time; the number of steps for a time outside of all."""
    if len(steps) == 0:
        return np.zeros(len(time_ns), np.int64)
    place = around(steps.start_ns, steps.end_ns, time_ns)
    return np.where(place >= 0, place, len(steps))


def _counts(rows: Kernels | Copies | GpuWaits, step: Int64, steps: int) -> tuple[Int64, Int64]:
    """Returns how many rows each step has, and their time in ns, -1 if none of them has times."""
    took_ns = duration_ns(rows)
    count = np.bincount(step, minlength=steps).astype(np.int64)
    known = np.bincount(step[took_ns >= 0], minlength=steps)
    total_ns = _sum_by_step(np.maximum(took_ns, 0), step, steps)
    return count, np.where((count > 0) & (known == 0), -1, total_ns)


def _sum_by_step(values: Int64, step: Int64, steps: int) -> Int64:
    found = np.zeros(steps, np.int64)
    np.add.at(found, step, values)
    return found
