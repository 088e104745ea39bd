"""The samples of the account: what the thread did at each, and for how long."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.account.watch import Watched, same_line
from perfprobe.analyse.sampled import in_program
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, among, column
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.steps import StepPhase, Steps, StepTimes
from perfprobe.tables.trace import Trace

# Time that is not an operator's, although an operator may run in it.
_APART = (StepPhase.DATA, StepPhase.COLLECTION, StepPhase.COMPILE)


class Looks(Table):
    """Samples in the steps that count."""

    step: Int32 = column("the step", Steps)
    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, -1 none", Frames)
    stack: Int32 = column("the Python stack, -1 if none was read", Stacks)
    look: Int8 = column("a `Look`")
    module: Int32 = column("the module of the operator that ran", Modules)
    in_operator: Mask = column("whether an operator ran")
    time_ns: Int64 = column("the time it stands for")
    cpu_ns: Int64 = column("CPU time of the thread in that time, -1 if not known")
    wait_ns: Int64 = column("how long the thread waited between operators in that time, -1 if not known")
    own_ns: Int64 = column("how long it did not wait between operators in that time, -1 if not known")


def looks_of(trace: Trace, times: StepTimes, watched: Watched) -> Looks:
    """The samples; those in a call of backward without a place of their own have no line."""
    found, of_operators = times.looks, watched.of_looks
    chosen = among(found.step, watched.steps)
    samples = in_program(trace.recording).take(found.sample)
    line = np.append(same_line(trace.recording[Frames]), np.int32(-1))
    frame = line[np.append(trace.sites.frame, np.int32(-1))[samples.stack]]
    frame = np.where(_calls_backward(trace, found.phase, frame, line), np.int32(-1), frame)
    in_operator = (of_operators.phase >= 0) & ~np.isin(found.phase, _APART)
    length_ns = np.maximum(samples.end_ns - samples.start_ns, 1)
    cpu_ns = np.minimum(samples.cpu_ns / length_ns, 1) * found.time_ns
    rows = Looks(
        step=found.step,
        phase=np.where(in_operator, of_operators.phase, found.phase),
        frame=np.where(in_operator, of_operators.frame, frame).astype(np.int32),
        stack=samples.stack,
        look=samples.look,
        module=np.where(in_operator, of_operators.module, np.int32(-1)).astype(np.int32),
        in_operator=in_operator,
        time_ns=np.maximum(found.time_ns, 1),
        cpu_ns=np.where(samples.cpu_ns >= 0, cpu_ns, -1).astype(np.int64),
        wait_ns=watched.stood.between_ns[found.sample],
        own_ns=watched.stood.own_ns[found.sample],
    )
    rows, looks = rows.take(chosen), samples.looks[chosen]
    names = ("wait_ns", "own_ns")
    moved = {name: _moved(getattr(rows, name), looks, rows.in_operator) for name in names}
    return Looks(**rows.columns() | moved)


def _moved(time_ns: Int64, looks: Int32, in_operator: Mask) -> Int64:
    """Times since the look before, as times that each sample stands for.

    Half of it is the look before's, unless an operator ran then. looks: that each sample stands for.
    """
    to_before_ns = np.append((np.maximum(time_ns, 0) // (2 * np.maximum(looks, 1)))[1:], 0)
    to_before_ns[in_operator | (time_ns < 0)] = 0
    return np.asarray(time_ns + to_before_ns - np.append(0, to_before_ns[:-1]), np.int64)


def _calls_backward(trace: Trace, phase: Int8, frame: Int32, line: Int32) -> Mask:
    """Returns which samples show autograd's engine itself, at the line that calls backward.

    line: of each frame the first one on the same line.
    """
    engines = trace.sites.engine
    calls = line[trace.sites.frame[engines[engines >= 0]]]
    return np.asarray((phase == StepPhase.BACKWARD) & among(frame, calls))
