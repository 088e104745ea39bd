"""Chooses the calls of a recording to measure: operators by signature, most time first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfprobe.bench.later_values import values_of
from perfprobe.bench.reuse import Reuse, by_signature
from perfprobe.models.nodes import ENGINE
from perfprobe.models.waiting import HeldUp, held_up
from perfprobe.models.work.filling import WITHOUT_WORK
from perfprobe.support import units
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import OperandReuse, Signatures
from perfprobe.tables.findings import Findings, Hotspots, Sums
from perfprobe.tables.measurements import Seen, Wanted
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_COMPILED = "inductor::"
_MOST_THREADS = 4096  # more means a damaged recording, and all of them would be started
_LINES = 3  # lines that are kept of a call
_WORTH_SAYING = 0.001  # of operator time

BY_CPU = "Operator time here is CPU time of the calling threads: shares do not include waiting."
SPINNING = (
    "CPU time in the program is not compared with isolated CPU time: threads waited for a processor "
    "there, and threads of a pool spin while they wait for each other."
)
NODE = "backward nodes and other names that only call operators"
COMPILED = "kernels that torch.compile generated"
TRACED = "operators that torch.compile traced, on tensors without data"
NO_INPUTS = "operators recorded without their inputs"
NO_WORK = "views and empty tensors, which touch no element (--top N has those among the N hottest)"


@dataclass(frozen=True)
class Hot:
    """What to measure, most time first. notes: what cannot be replayed, as a part of operator time."""

    calls: tuple[tuple[Wanted, Seen], ...]
    notes: tuple[str, ...]


class _Key(NamedTuple):
    """Ids that are equal for calls that are measured as one."""

    name: int
    overload: int
    signature: int


def hot(findings: Findings, top: int, threads: int | None = None) -> Hot:
    """Returns the `top` calls with most self time; 0 for all that touch any element.

    Self time is on GPUs if a GPU was recorded, else CPU time if every operator has it. Wall time would
    include what a call waited for, most of all on a busy machine.

    Args:
        findings: have operators by signature. With a focus they are of one part only.
        threads: size of torch's thread pool; None for that of the program.
    """
    hotspots, recording = findings[Hotspots], findings.trace.recording
    sums = hotspots.ungrouped
    whole_ns, time_ns, notes = _times(hotspots)
    places, reasons = _divided(recording, sums, time_ns, with_all=top > 0)
    times_ns = {key: int(time_ns[rows].sum()) for key, rows in places.items()}
    chosen = sorted(times_ns, key=lambda key: -times_ns[key])[: top or None]
    used = threads or _threads(recording) or 1
    spins = _spins(findings.trace)
    reuse = by_signature(recording[OperandReuse])
    calls = tuple(
        (
            _wanted(recording, key, used, reuse.get(key.signature, Reuse())),
            _seen(findings.trace, sums.take(places[key]), times_ns[key] / whole_ns, spins),
        )
        for key in chosen
    )
    notes = (
        *notes,
        *([SPINNING] if spins else ()),
        *_left_out(reasons, whole_ns),
        *_thread_notes(recording, threads),
    )
    return Hot(calls, notes)


def _times(hotspots: Hotspots) -> tuple[int, Int64, tuple[str, ...]]:
    """Returns the time of all operators, that of each row of `ungrouped`, and a note about them."""
    sums = hotspots.ungrouped
    if hotspots.gpu_self_ns > 0:
        return hotspots.gpu_self_ns, np.maximum(sums.gpu_self_ns, 0), ()
    if hotspots.cpu_self_ns > 0:
        return hotspots.cpu_self_ns, np.maximum(sums.cpu_self_ns, 0), (BY_CPU,)
    return max(hotspots.totals.self_ns, 1), sums.self_ns, ()


def _divided(
    recording: Recording, sums: Sums, time_ns: Int64, *, with_all: bool
) -> tuple[dict[_Key, Int64], dict[str, int]]:
    """Returns the rows of each call, and the time of rows that cannot be replayed, by reason."""
    places: dict[_Key, list[int]] = {}
    reasons: dict[str, int] = {}
    columns = (sums.name, sums.overload, sums.signature, sums.phase, time_ns)
    for at, (*ids, phase, row_ns) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        key = _Key(*ids)
        reason = _why_not(recording, key, phase)
        if reason is None and not with_all and _is_without_work(recording, key):
            reason = NO_WORK
        if reason is None:
            places.setdefault(key, []).append(at)
        else:
            reasons[reason] = reasons.get(reason, 0) + row_ns
    return {key: np.array(rows, np.int64) for key, rows in places.items()}, reasons


def _why_not(recording: Recording, key: _Key, phase: int) -> str | None:
    """Returns why the operator of this row cannot be replayed; None if it can."""
    name = recording[Strings][key.name]
    if name.startswith(_COMPILED) or recording.fact("compiled", name) is not None:
        return COMPILED
    if "::" not in name or name.startswith(ENGINE):
        return NODE
    if phase == Phase.COMPILE:
        return TRACED
    return NO_INPUTS if key.signature < 0 else None


def _is_without_work(recording: Recording, key: _Key) -> bool:
    return recording[Strings][key.name].removeprefix("aten::") in WITHOUT_WORK


def _wanted(recording: Recording, key: _Key, threads: int, reuse: Reuse) -> Wanted:
    strings, signatures = recording[Strings], recording[Signatures]
    operator = ".".join(part for part in (strings[key.name], strings[key.overload]) if part)
    text = strings[signatures.text[key.signature]]
    if not _is_own(signatures, key):
        return Wanted(operator, text, threads=threads)
    return Wanted(
        operator,
        text,
        example=strings[signatures.example[key.signature]],
        values=values_of(recording, key.signature),
        threads=threads,
        **reuse._asdict(),
    )


def _is_own(signatures: Signatures, key: _Key) -> bool:
    """Whether the signature's example and values are of this operator. Older recordings do not say so."""
    if signatures.name[key.signature] >= 0:
        return bool(signatures.name[key.signature] == key.name)
    return int(np.count_nonzero(signatures.text == signatures.text[key.signature])) == 1


def _spins(trace: Trace) -> bool:
    """Whether threads of a team spent CPU time by spinning while they waited for each other."""
    has_team = (_threads(trace.recording) or 1) > 1
    return has_team and held_up(trace) is HeldUp.YES and _has_cpu_time(trace.recording)


def _has_cpu_time(recording: Recording) -> bool:
    return recording.text("recording", "cpu_time") == "all"


def _seen(trace: Trace, rows: Sums, share: float, spins: bool) -> Seen:
    every = _has_cpu_time(trace.recording) and bool((rows.cpu_ns >= 0).all()) and not spins
    calls, self_ns, total_ns = (int(column.sum()) for column in (rows.calls, rows.self_ns, rows.total_ns))
    cpu_ns = int(rows.cpu_ns.sum() - np.maximum(rows.recording_ns, 0).sum()) if every else None
    faults = int(rows.faults.sum()) if every and bool((rows.faults >= 0).all()) else None
    return Seen(calls, share, self_ns, total_ns, cpu_ns, _lines(trace, rows), faults)


def _lines(trace: Trace, rows: Sums) -> tuple[str, ...]:
    frames: dict[int, int] = {}
    for frame, self_ns in zip(rows.frame.tolist(), rows.self_ns.tolist(), strict=True):
        frames[frame] = frames.get(frame, 0) + self_ns
    lines = [trace.line(frame) for frame in sorted(frames, key=lambda frame: -frames[frame])]
    return tuple(f"{line.file}:{line.line} in {line.function}" for line in lines[:_LINES] if line is not None)


def _threads(recording: Recording) -> int | None:
    """Returns the size of torch's thread pool when the program ended."""
    threads = recording.number("torch", "threads")
    return int(threads) if threads is not None and 1 <= threads <= _MOST_THREADS else None


def _thread_notes(recording: Recording, threads: int | None) -> Iterator[str]:
    recorded = _threads(recording)
    if recorded is None and threads is None:
        yield "The recording does not say how many threads torch had: measured with 1 (--threads)."
    elif recorded is not None and threads not in (None, recorded):
        yield f"Measured with another number of threads than the program had, which was {recorded}."


def _left_out(reasons: Mapping[str, int], whole_ns: int) -> Iterator[str]:
    parts = sorted(reasons.items(), key=lambda part: -part[1])
    notes = [
        f"{units.percent(time_ns / whole_ns)} {reason}"
        for reason, time_ns in parts
        if time_ns >= _WORTH_SAYING * whole_ns
    ]
    if notes:
        yield f"Cannot be replayed, as parts of operator time: {'; '.join(notes)}."
