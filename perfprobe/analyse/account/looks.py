"""The samples of the account: what the thread did at each, and for how long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.blocked import is_apart, waits_at_looks
from perfprobe.analyse.account.positions import cpu_times
from perfprobe.analyse.account.stood import Stretches
from perfprobe.analyse.account.watch import Watched, events, same_line
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.sampled import in_program, waits
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table, among, column
from perfprobe.tables.intervals import around, numbered
from perfprobe.tables.python import Samples
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.steps import EventKind, StepLooks, StepPhase, Steps, StepTimes
from perfprobe.tables.trace import Trace

Floats = npt.NDArray[np.float64]
_RANGES = (EventKind.NEXT, EventKind.OPTIMIZER)


class Looks(Table):
    """Samples in the steps that count."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    step: Int32 = column("the step", Steps)
    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, -1 none", Frames)
    stack: Int32 = column("the Python stack, -1 if none was read", Stacks)
    look: Int8 = column("a `Look`")
    looks: Int32 = column("how many looks saw the same")
    module: Int32 = column("the module of the operator that ran", Modules)
    in_operator: Mask = column("whether an operator ran")
    time_ns: Int64 = column("the time it stands for")
    cpu_ns: Int64 = column("CPU time of the thread in that time, -1 if not known")
    wait_ns: Int64 = column("how long the thread waited at that line between operators")
    own_ns: Int64 = column("the time without waiting that it stands for")
    still_ns: Int64 = column("the part of time_ns in which it neither ran nor could have; 0 if not known")
    ranks_ns: Int64 = column("the part of time_ns in which the thread waited for other ranks")
    lock_ns: Int64 = column("the part in which it waited for Python's lock")
    gpu_ns: Int64 = column("the part in which it waited for a GPU, between operators")
    called: Int32 = column("the user's line, also where it only calls autograd's engine", Frames)


def looks_of(trace: Trace, times: StepTimes, watched: Watched) -> Looks | None:
    """The samples; None without steps. Calls of backward without a place of their own have no line."""
    if len(watched.steps) == 0:
        return None
    found, of_operators, steps = times.looks, watched.of_looks, times.steps.take(watched.steps)
    chosen = among(found.step, watched.steps)
    whole, os_threads = in_program(trace.recording), trace.recording.os_threads()
    samples, stood_ns = whole.take(found.sample), waits(whole, os_threads)[found.sample]
    line = np.append(same_line(trace.recording[Frames]), np.int32(-1))
    called = line[np.append(trace.sites.frame, np.int32(-1))[samples.stack]]
    frame = np.where(_calls_backward(trace, found.phase, called, line), np.int32(-1), called)
    in_operator = (of_operators.phase >= 0) & ~is_apart(found.phase)
    blocked = _blocked(samples, found, in_operator, watched)
    in_range = np.any([around(*events(times, kind), samples.end_ns) >= 0 for kind in _RANGES], axis=0)
    length_ns = np.maximum(samples.end_ns - samples.start_ns, 1)
    cpu_ns = np.minimum(samples.cpu_ns / length_ns, 1) * found.time_ns
    still_ns = np.maximum((1 - stood_ns / length_ns) * found.time_ns - cpu_ns, 0)
    rows = Looks(
        start_ns=samples.start_ns,
        end_ns=samples.end_ns,
        step=found.step,
        phase=np.where(in_operator, of_operators.phase, found.phase),
        frame=np.where(in_operator, of_operators.frame, frame).astype(np.int32),
        stack=samples.stack,
        look=samples.look,
        looks=samples.looks,
        module=np.where(in_operator, of_operators.module, np.int32(-1)).astype(np.int32),
        in_operator=in_operator,
        time_ns=np.maximum(found.time_ns, 1),
        cpu_ns=np.where(samples.cpu_ns >= 0, cpu_ns, -1).astype(np.int64),
        wait_ns=_waits(_within(watched.stood.between, steps), samples, in_operator | in_range),
        own_ns=np.maximum((1 - stood_ns / length_ns) * found.time_ns - sum(blocked), 1).astype(np.int64),
        still_ns=np.where(samples.cpu_ns >= 0, still_ns, 0).astype(np.int64),
        **dict(zip(("ranks_ns", "lock_ns", "gpu_ns"), blocked, strict=True)),
        called=called,
    )
    rows, samples = rows.take(chosen), samples.take(chosen)
    thread = os_threads[times.loops.thread[0]]
    own_ns = cpu_times(trace.recording, int(thread), steps, samples)
    return rows if own_ns is None else Looks(**rows.columns() | {"own_ns": own_ns})


def _blocked(
    samples: Samples, found: StepLooks, in_operator: Mask, watched: Watched
) -> tuple[Int64, Int64, Int64]:
    """Waiting for ranks, the lock and a GPU in the time that each sample stands for; not in other waits."""
    counts = ~is_apart(found.phase)
    waits = waits_at_looks(samples, counts & ~in_operator, watched.collectives, watched.waits)
    part = found.time_ns / np.maximum(samples.end_ns - samples.start_ns, 1) * counts
    ranks_ns, lock_ns, gpu_ns = ((part * each).astype(np.int64) for each in waits)
    return ranks_ns, lock_ns, gpu_ns


def _within(between: Stretches, steps: Steps) -> Stretches:
    """The part of these waits that is in steps that count."""
    inside_ns = Covered(steps.start_ns, steps.end_ns).within(between.start_ns, between.end_ns)
    part = inside_ns / np.maximum(between.end_ns - between.start_ns, 1)
    return between._replace(wait_ns=(between.wait_ns * part).astype(np.int64))


def _waits(between: Stretches, samples: Samples, in_call: Mask) -> Int64:
    """How long the thread waited at the line of each sample, outside of calls of operators and ranges.

    A wait is that of the samples in its stretch, by how long these say that the thread waited; without any,
    of those in stretches between the same two lines; without these too, of the next one.
    """
    found_ns = np.zeros(len(samples), np.int64)
    row = np.flatnonzero(~in_call)
    row = row[np.argsort(samples.end_ns[row], kind="stable")]
    if len(row) == 0 or len(between.end_ns) == 0:
        return found_ns
    moment_ns, weight = samples.end_ns[row], np.maximum(samples.wait_ns[row], 0) + 1.0
    first = np.searchsorted(moment_ns, between.start_ns)
    last = np.searchsorted(moment_ns, between.end_ns, "right")
    alone = np.flatnonzero(first == last)
    alike_ns, left = _of_alike(between, alone, moment_ns, weight)
    found_ns[row] = alike_ns
    first[left] = np.minimum(first[left], len(row) - 1)
    last[left] = first[left] + 1
    at, place = numbered(first, last - first)
    part = weight[place] / np.bincount(at, weight[place], len(first))[at]
    np.add.at(found_ns, row[place], (part * between.wait_ns[at]).astype(np.int64))
    return found_ns


def _of_alike(between: Stretches, alone: Rows, moment_ns: Int64, weight: Floats) -> tuple[Int64, Rows]:
    """Waits of these stretches without a sample, by sample of those like them; and stretches without any."""
    stretch = np.searchsorted(between.end_ns, moment_ns)
    inside = np.flatnonzero(stretch < len(between.end_ns))
    inside = inside[between.start_ns[stretch[inside]] <= moment_ns[inside]]
    kinds, kind = np.unique(between.kind, return_inverse=True)
    waits_ns = np.bincount(kind[alone], between.wait_ns[alone], len(kinds))
    weights = np.bincount(kind[stretch[inside]], weight[inside], len(kinds))
    found_ns = np.zeros(len(moment_ns), np.int64)
    of_kind = kind[stretch[inside]]
    found_ns[inside] = weight[inside] / weights[of_kind] * waits_ns[of_kind]
    return found_ns, alone[weights[kind[alone]] == 0]


def _calls_backward(trace: Trace, phase: Int8, frame: Int32, line: Int32) -> Mask:
    """Returns which samples show autograd's engine itself, at the line that calls backward.

    line: of each frame the first one on the same line.
    """
    engines = trace.sites.engine
    calls = line[trace.sites.frame[engines[engines >= 0]]]
    return np.asarray((phase == StepPhase.BACKWARD) & among(frame, calls))
