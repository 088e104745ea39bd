"""The time before the first step and outside of later ones, divided by what samples show."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import most_in_each, sort_by_keys
from perfprobe.analyse.loop.covered import outside
from perfprobe.analyse.loop.idle import own_waits, request_waits
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import stood_still
from perfprobe.tables.columns import Int8, Int64, Mask, among
from perfprobe.tables.python import Look, Origin, Samples
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.steps import StartUp, StartUpPart
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

# The files whose functions wait for child processes to end.
_FOR_CHILDREN = ("/multiprocessing/popen_fork.py", "/torch/multiprocessing/spawn.py", "/subprocess.py")
# Functions that build a model: constructors, and what they call to fill parameters.
_BUILDERS = ("__init__", "reset_parameters", "from_pretrained", "post_init", "init_weights")


def start_up(trace: Trace, until_ns: int, thread: int | None) -> StartUp:
    """The parts of the time up to the first step, most time first, in ns.

    Args:
        until_ns: when the first step began.
        thread: the system's number of the thread whose samples count, None if not known.
    """
    begin_ns = trace.start_ns
    whole_ns = 0 if begin_ns is None else until_ns - begin_ns
    samples = None if begin_ns is None else _of_thread(trace, thread)
    if samples is None:
        return _rest(whole_ns)
    samples = samples.take(samples.start_ns < until_ns)
    found = _grouped(trace, samples, np.minimum(samples.end_ns, until_ns) - samples.start_ns)
    return by_time([found, _rest(max(whole_ns - int(found.time_ns.sum()), 0))])


def after_first(trace: Trace, begins_ns: Int64, ends_ns: Int64, thread: int | None) -> StartUp:
    """The parts of the time after the first step and outside of all steps, most time first, in ns.

    Without samples it has no rows.

    Args:
        begins_ns, ends_ns: of the thread's steps.
        thread: as in `start_up`.
    """
    samples = _of_thread(trace, thread) if len(begins_ns) else None
    if samples is None:
        return StartUp.empty()
    row, start_ns, end_ns = outside(samples.start_ns, samples.end_ns, begins_ns, ends_ns)
    is_after = start_ns >= begins_ns.min()
    return by_time([_grouped(trace, samples.take(row[is_after]), (end_ns - start_ns)[is_after])])


def _of_thread(trace: Trace, thread: int | None) -> Samples | None:
    """The samples of a thread that show where it was; None if nothing was sampled."""
    samples = in_program(trace.recording)
    if trace.python is None or len(samples) == 0 or thread is None:
        return None
    is_own = trace.recording.os_threads()[samples.thread] == thread
    return samples.take(is_own & (samples.look == Look.READ) & (samples.stack >= 0))


def _grouped(trace: Trace, samples: Samples, time_ns: Int64) -> StartUp:
    """The time of these samples by what the thread did, and for imports by what was imported."""
    assert trace.python is not None
    imported = trace.python.imports
    stack = samples.stack
    if len(stack) == 0:
        return StartUp.empty()
    part = _parts(trace)[stack]
    waits = stood_still(trace.recording, samples.cpu_ns, samples.end_ns - samples.start_ns)
    waited_for = np.where(own_waits(trace, samples), np.int8(StartUpPart.IDLE), _waits(trace)[stack])
    part = np.where(waits & (part == StartUpPart.OTHER), waited_for, part)
    is_import = part == StartUpPart.IMPORT
    importer = np.where(is_import, imported.importer[stack], np.int32(-1)).astype(np.int32)
    body = np.where(is_import, imported.body[stack], np.int32(-1)).astype(np.int32)
    frame = np.append(trace.sites.frame, np.int32(-1))[stack]
    order, first = sort_by_keys([part, importer, body])
    return StartUp(
        kind=part[order[first]],
        importer=importer[order[first]],
        body=body[order[first]],
        frame=most_in_each(frame[order], time_ns[order], first),
        time_ns=np.add.reduceat(time_ns[order], first),
    )


def by_time(tables: list[StartUp]) -> StartUp:
    """All rows, most time first. Rows of unknown time become one."""
    rows = StartUp.concat(tables)
    other = rows.kind == StartUpPart.OTHER
    if np.count_nonzero(other) > 1:
        kept = rows.take(~other)
        longest = rows.take(other).take(np.argsort(-rows.time_ns[other], kind="stable")[:1])
        columns = longest.columns() | {"time_ns": np.array([rows.time_ns[other].sum()])}
        rows = StartUp.concat([kept, StartUp(**columns)])
    return rows.take(np.argsort(-rows.time_ns, kind="stable"))


def one(part: StartUpPart, time_ns: int) -> StartUp:
    """One row without a line or import; no row if the time is 0."""
    none = np.full(1, -1, np.int32)
    row = StartUp(np.full(1, part, np.int8), none, none, none, np.full(1, time_ns, np.int64))
    return row if time_ns > 0 else StartUp.empty()


def _rest(time_ns: int) -> StartUp:
    return one(StartUpPart.OTHER, time_ns)


def _parts(trace: Trace) -> Int8:
    """The `StartUpPart` of every stack."""
    assert trace.python is not None
    stacks = trace.recording[Stacks]
    builds = nearest(stacks.parent, _builds(trace)) >= 0
    part = np.where(builds, np.int8(StartUpPart.MODEL), np.int8(StartUpPart.OTHER))
    part = np.where(trace.sites.is_compile, np.int8(StartUpPart.COMPILE), part)
    is_import = trace.python.imports.importer[:-1] >= 0
    return np.where(is_import, np.int8(StartUpPart.IMPORT), part).astype(np.int8)


def _waits(trace: Trace) -> Int8:
    """The `StartUpPart` of every stack if its thread stands still: what it waits for."""
    stacks, frames = trace.recording[Stacks], trace.recording[Frames]
    ends = trace.recording[Strings].marks(lambda text: text.endswith(_FOR_CHILDREN))
    named = np.append(ends[frames.file], False)[stacks.frame]
    is_for_children = nearest(stacks.parent, named) >= 0
    part = np.where(request_waits(trace), StartUpPart.IDLE, StartUpPart.WAITING)
    return np.where(is_for_children, StartUpPart.CHILDREN, part).astype(np.int8)


def _builds(trace: Trace) -> Mask:
    """Returns which stacks end in a function that builds a model."""
    assert trace.python is not None
    strings, frames = trace.recording[Strings], trace.recording[Frames]
    is_builder = strings.marks(lambda text: text.rpartition(".")[2] in _BUILDERS)
    named = np.append(is_builder[frames.function], False)[trace.recording[Stacks].frame]
    origin = np.append(trace.python.code.origin, np.int8(Origin.STDLIB))[trace.python.of_stack[:-1]]
    return np.asarray(named & among(origin, [Origin.USER, Origin.LIBRARY, Origin.TORCH]))
