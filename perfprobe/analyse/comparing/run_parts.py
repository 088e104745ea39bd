"""The parts of one run's steps: the account, with operators in place of their sums.

The time of operators at a line is the account's. It is divided by what each of them took there.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.account.watch import same_line
from perfprobe.analyse.spent.in_loop import within
from perfprobe.analyse.spent.rows import divided, one_thread
from perfprobe.analyse.step_rows import OfSteps, StepSites
from perfprobe.tables.account import Account, LeafKind, Leaves
from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.python import OperatorSites
from perfprobe.tables.run_parts import RunParts, StepParts
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.trace import Phase, Trace

# The phase of a step, by the phase of its operators.
_PHASES = np.array([StepPhase[phase.name] for phase in Phase], np.int8)


def run_parts(
    trace: Trace, times: StepTimes, account: Account | None, found: StepSites, of_steps: OfSteps
) -> RunParts | None:
    """The parts; None without steps that have operators."""
    if account is None or account.own_ns <= 0:
        return None
    line = same_line(trace.recording[Frames])
    leaves = account.leaves.take(account.leaves.kind != LeafKind.PROCESSOR)
    threads = one_thread(trace.recording.os_threads())
    sites = found.sites.take(within(found.sites, threads, int(times.loops.thread[0])))
    in_lines_ns = _by_line(leaves, line)
    operators = _operators(trace, sites, in_lines_ns, line)
    parts = StepParts.concat([operators, _python(leaves, in_lines_ns, sites, line)])
    median, steady = middle(of_steps.calls) if len(of_steps.calls) else (0, 0.0)
    phases = account.phases()
    return RunParts(parts, account.steps, account.own_ns, account.waited_ns, phases, median, steady)


def middle(of_steps: Int64) -> tuple[int, float]:
    """The number of the median step, and the part of the steps that has it."""
    found = int(np.sort(of_steps)[len(of_steps) // 2])
    return found, float((of_steps == found).mean())


def _by_line(leaves: Leaves, line: Int32) -> Int64:
    """The time of operators by line; the last one is of what has no line."""
    found = np.zeros(len(line), np.int64)
    np.add.at(found, line[leaves.frame], leaves.operators_ns)
    return found


def _operators(trace: Trace, sites: OperatorSites, in_lines_ns: Int64, line: Int32) -> StepParts:
    """Operators with their part of their line's time."""
    at = line[sites.frame].astype(np.intp) % len(line)
    module = np.append(trace.sites.module, np.int32(-1))[sites.stack]
    return StepParts(
        kind=np.full(len(sites), LeafKind.LINE, np.int8),
        phase=_PHASES[sites.phase],
        frame=line[sites.frame],
        module=module,
        name=sites.name,
        overload=sites.overload,
        signature=sites.signature,
        calls=sites.calls,
        time_ns=divided(in_lines_ns, at, np.maximum(sites.self_ns, 1)),
    )


def _python(leaves: Leaves, in_lines_ns: Int64, sites: OperatorSites, line: Int32) -> StepParts:
    """The rest of each part of the account. It is all of it where no operator has the line."""
    at = line[leaves.frame].astype(np.intp) % len(line)
    has_operators = np.bincount(line[sites.frame].astype(np.intp) % len(line), minlength=len(line)) > 0
    time_ns = leaves.time_ns - np.where(has_operators[at], leaves.operators_ns, 0)
    none = np.full(len(leaves), -1, np.int32)
    rows = StepParts(
        kind=leaves.kind,
        phase=leaves.phase,
        frame=line[leaves.frame],
        module=leaves.module,
        name=none,
        overload=none,
        signature=none,
        calls=np.zeros(len(leaves), np.int64),
        time_ns=time_ns,
    )
    return rows.take(time_ns != 0)
