"""Rule: a module has only forward in training steps: a teacher, a target network, a frozen part.

Its lines may be those of a module that is trained, so lines do not show it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.diagnose.waits import of_group
from perfprobe.tables.account import Account, LeafKind, group
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.stacks import Modules, Stacks, nearest
from perfprobe.tables.steps import StepKind, StepPhase, StepTimes
from perfprobe.tables.trace import Trace

_BACKWARD = (StepPhase.BACKWARD, StepPhase.RECOMPUTE)
_LINKED = 0.3  # of the forward of all others: with less, it is not known of which forward backward is


def untrained(findings: Findings, account: Account) -> tuple[Diagnosis, Mask] | None:
    """The module with most forward among those without backward, if it stands out, and its leaves."""
    times, leaves, trace = findings.get(StepTimes), account.leaves, findings.trace
    parent = trace.recording[Modules].parent
    if times is None or times.loops.kind[0] != StepKind.TRAINING or len(parent) == 0:
        return None
    known = (leaves.kind == LeafKind.LINE) & (leaves.module >= 0)
    forward, backward = known & (leaves.phase == StepPhase.FORWARD), known & np.isin(leaves.phase, _BACKWARD)
    forward_ns, backward_ns, backward_rows = (
        _with_parts(parent, leaves.module[chosen], values[chosen])
        for chosen, values in (
            (forward, leaves.time_ns),
            (backward, leaves.time_ns),
            (backward, np.ones(len(leaves), np.int64)),
        )
    )
    alone_ns = np.where(backward_rows == 0, forward_ns, 0)
    module = int(alone_ns.argmax())  # the outermost one: it precedes its parts
    roots = parent < 0
    others_ns = int(forward_ns[roots].sum()) - int(alone_ns[module]), int(backward_ns[roots].sum())
    is_linked = others_ns[1] > 0 and others_ns[1] >= _LINKED * others_ns[0] > 0
    if not is_linked or account.share(int(alone_ns[module])) < STANDS_OUT:
        return None
    inside = np.append(nearest(parent, np.arange(len(parent)) == module) >= 0, False)
    own = known & inside[leaves.module]
    found = of_group(account, group(leaves.take(own)), Cause.FORWARD_ONLY)
    share = found.share
    frame = _called_at(trace, inside)
    return Diagnosis(
        cause=found.cause,
        time_ns=found.time_ns,
        share=share,
        error=found.error,
        stands_out=share >= STANDS_OUT,
        gain=gain(share),
        frame=found.frame if frame < 0 else frame,
        phases=found.phases,
        steps=found.steps,
        module=module_name(trace, module),
    ), own


def module_name(trace: Trace, module: int) -> str:
    """The path of a module, and its class unless that is the last part: `teacher (ResNet)`."""
    path, kind = trace.module(module) or "", trace.module_types[module]
    return f"{path} ({kind})" if kind and kind != path.rpartition(".")[2] else path


def _with_parts(parent: Int32, module: Int32, time_ns: Int64) -> Int64:
    """The time of every module with all those in it, which come behind it."""
    found = np.bincount(module, time_ns, len(parent)).astype(np.int64)
    for at in np.flatnonzero(parent >= 0)[::-1].tolist():
        found[parent[at]] += found[at]
    return found


def _called_at(trace: Trace, inside: Mask) -> int:
    """The user's line that calls these modules from outside of them; -1 if none is known."""
    stacks = trace.recording[Stacks]
    entered: Rows = np.flatnonzero(inside[stacks.module] & (stacks.parent >= 0))
    above = stacks.parent[entered]
    above = above[~inside[stacks.module[above]]]
    called = Counter(frame for frame in trace.sites.frame[above].tolist() if frame >= 0)
    return called.most_common(1)[0][0] if called else -1
