"""What each host thread did, as layers of intervals. At every moment the first layer with one counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.gpu_waits import all_waits
from perfprobe.analyse.loop.ranges import NEXT, NamedSpans, Spans
from perfprobe.analyse.loop.regions import Regions
from perfprobe.analyse.sampled import in_program
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table, column
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls, GpuLinks, WaitKind
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.python import Look
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace

_ALLOCATORS = ("Malloc", "MemAlloc", "HostAlloc", "HostRegister", "Free", "MemCreate", "MemMap")
_WAITING = ("Synchronize",)
_BY_STEP_PHASE = {StepPhase.DATA: IdleCause.DATA, StepPhase.COMPILE: IdleCause.COMPILE}
_BY_PHASE = {Phase.DATA: IdleCause.DATA, Phase.COMPILE: IdleCause.COMPILE}


class HostSpans(Table):
    """What one thread of the host did: spans ordered by start, without overlaps."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    cause: Int8 = column("an `IdleCause`")
    call: Int32 = column("the function of CUDA's API", Strings)
    operator: Int32 = column("the outermost operator, -1 outside of all", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")


@frozen
class ThreadLayers:
    """The layers of a thread in their order. Samples are separate: they count last."""

    known: Sequence[HostSpans]
    samples: HostSpans
    operators: HostSpans


def host_spans(cause: Int8 | IdleCause, start_ns: Int64, **known: npt.NDArray[Any]) -> HostSpans:
    """Makes rows with one cause for all or one for each. Columns that are not given are unknown."""
    rows = len(start_ns)
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.full(rows, -1, dtype) for name, dtype in HostSpans.dtypes.items()
    }
    causes = np.array(np.broadcast_to(np.asarray(cause, np.int8), rows))
    columns |= {"start_ns": start_ns, "cause": causes, "phase": np.zeros(rows, np.int8)}
    return _disjoint(HostSpans(**columns | {"no_line": np.full(rows, NoLine.NO_PYTHON, np.int8)} | known))


def of_calls(trace: Trace, links: GpuLinks, rows: Rows, causes: Int8) -> HostSpans:
    """Returns the API calls of one thread, with their causes."""
    calls, sites = trace.recording[ApiCalls], links.sites
    return host_spans(
        causes[rows],
        calls.start_ns[rows],
        end_ns=calls.end_ns[rows],
        call=calls.name[rows],
        operator=sites.name[rows],
        frame=sites.frame[rows],
        forward_frame=sites.forward_frame[rows],
        phase=sites.phase[rows],
        no_line=sites.no_line[rows],
    )


def call_causes(recording: Recording, links: GpuLinks) -> tuple[Int8, Int64]:
    """Returns the cause for which each API call stands, and how long it waited for a GPU (0: it did not).

    In traces without records of waits, calls that wait are recognized by their names.
    """
    calls, strings = recording[ApiCalls], recording[Strings]
    causes = np.full(len(calls), IdleCause.LAUNCH, np.int8)
    allocates = strings.marks(lambda text: any(word in text for word in _ALLOCATORS))[calls.name]
    causes[allocates] = IdleCause.ALLOCATOR
    by_name = strings.marks(lambda text: text.endswith(_WAITING))[calls.name]
    causes[by_name] = IdleCause.SYNC
    waited_ns = np.where(by_name, calls.end_ns - calls.start_ns, np.int64(0))
    waits, call = all_waits(recording, links)
    known = (call >= 0) & (waits.kind != WaitKind.STREAM_WAIT_EVENT)
    is_copy = waits.kind[known] == WaitKind.PAGEABLE_COPY
    causes[call[known]] = np.where(is_copy, np.int8(IdleCause.PAGEABLE_COPY), np.int8(IdleCause.SYNC))
    waited_ns[call[known]] = (waits.end_ns - waits.start_ns)[known]
    return causes, np.maximum(waited_ns, 0)


def of_operators(rows: LinkedOperators) -> HostSpans:
    """Returns the outermost operators of one thread."""
    causes = _mapped(rows.phase, _BY_PHASE, IdleCause.OPERATORS)
    columns = {name: getattr(rows, name) for name in ("end_ns", "frame", "forward_frame", "phase", "no_line")}
    return host_spans(causes, rows.start_ns, **columns, operator=rows.name)


def of_ranges(trace: Trace, spans: NamedSpans, thread: int) -> list[HostSpans]:
    """Returns the garbage collections of a thread, and its waits for a loader."""
    found = ((spans.collections(thread), IdleCause.COLLECTION), (spans.of(thread, NEXT), IdleCause.DATA))
    return [_of_spans(trace, rows, cause) for rows, cause in found]


def of_samples(trace: Trace, regions: Regions, thread: int) -> HostSpans:
    """Returns what samples of a thread show, each for the time from its start to its end."""
    samples = in_program(trace.recording)
    own = trace.recording.os_threads()[samples.thread] == thread
    samples = samples.take(own & (samples.look == Look.READ) & (samples.stack >= 0))
    causes = _mapped(regions.phase[samples.stack], _BY_STEP_PHASE, IdleCause.PYTHON)
    return host_spans(causes, samples.start_ns, end_ns=samples.end_ns, **_at_stacks(trace, samples.stack))


def _of_spans(trace: Trace, rows: Spans, cause: IdleCause) -> HostSpans:
    return host_spans(cause, rows.start_ns, end_ns=rows.end_ns, **_at_stacks(trace, rows.stack))


def _at_stacks(trace: Trace, stack: Int32) -> dict[str, npt.NDArray[Any]]:
    frame = np.append(trace.sites.frame, np.int32(-1))[stack]
    return {"frame": frame, "no_line": np.where(frame >= 0, NoLine.NONE, NoLine.NO_PYTHON).astype(np.int8)}


def _mapped(phase: Int8, causes: dict[Any, IdleCause], other: IdleCause) -> Int8:
    found = np.full(len(phase), other, np.int8)
    for key, cause in causes.items():
        found[phase == key] = cause
    return found


def _disjoint(rows: HostSpans) -> HostSpans:
    """Sorts by start, drops nested rows, and cuts the beginning of rows that overlap an earlier one."""
    rows = rows.take(rows.end_ns > rows.start_ns)
    if len(rows) == 0:
        return rows
    rows = rows.take(np.lexsort((-rows.end_ns, rows.start_ns)))
    until_ns = np.append(rows.start_ns[:1], np.maximum.accumulate(rows.end_ns)[:-1])
    kept: Mask = rows.end_ns > until_ns
    kept[0] = True
    start_ns = np.maximum(rows.start_ns, until_ns)
    return HostSpans(**rows.columns() | {"start_ns": start_ns}).take(kept)
