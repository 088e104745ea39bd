"""Rule: one line of the program has a large part of the time, all its phases together.

Where one line calls a whole model, its hottest module says more than the line, if it stands out too. Where
no line stands out, a module may: its own operators, without those of the modules in it. So may a function.
The line of a loop over modules of several kinds, `x = layer(x)`, is each of them: there the kinds are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.diagnose.called_modules import by_class
from perfprobe.diagnose.conversions import conversions
from perfprobe.diagnose.functions import functions
from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.diagnose.untrained import untrained
from perfprobe.diagnose.waits import of_group
from perfprobe.models.module_tree import HotModule, hot_module, own_module
from perfprobe.tables.account import Account, Group, group
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase

_MOST = 0.5  # of the operators' time: a line with more of it may not be specific enough
_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD, StepPhase.RECOMPUTE)


def lines(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    """A diagnosis for each line, and for a module or function in place of the lines that it is about."""
    alone = untrained(findings, account)
    if alone is None:
        found = [*_of_modules(findings, account)]
    else:  # the times of modules are not without its own
        account = replace(account, leaves=account.leaves.take(~alone[1]))
        found = [(alone[0], set[int]())]
    copies = conversions(findings, account)
    found += [] if copies is None else [copies]
    about = {frame for _, frames in found for frame in frames}
    found += functions(findings, account, frozenset(about))
    about = {frame for _, frames in found for frame in frames}
    yield from (judged for judged, _ in found)
    for each in account.lines():
        if each.frame not in about:
            yield from by_class(findings, account, each) or [of_group(account, each, Cause.LINE)]


def _of_modules(findings: Findings, account: Account) -> Iterator[tuple[Diagnosis, set[int]]]:
    """The hottest module of the first line, or where no line stands out, the module that does; its lines."""
    found = account.lines()
    module = _whole_model(findings, account, found[0]) if found else None
    if module is not None:
        yield _of_module(findings, account, found[0], module), {found[0].frame}
    elif not found or account.share(found[0].time_ns) < STANDS_OUT:
        own = _own_module(findings, account)
        if own is not None:
            yield own


def _whole_model(findings: Findings, account: Account, line: Group) -> HotModule | None:
    """The hottest module, if this line calls modules and has most of the operators' time.

    A line in the module's own method says more than the module. So does a line of which no module has much.
    """
    hotspots = findings.get(StepHotspots)
    if hotspots is None or 2 * line.operators_ns <= int(account.leaves.operators_ns.sum()):
        return None
    leaves = account.leaves
    called = leaves.take((leaves.frame == line.frame) & (leaves.module >= 0))
    if 2 * int(called.operators_ns.sum()) <= line.operators_ns:
        return None
    module = hot_module(findings.trace, hotspots.modules)
    if module is None or _hides(account, line, module):
        return None
    place = findings.trace.line(line.frame)
    return None if place is None or place.function.rpartition(".")[0] in module.classes else module


def _hides(account: Account, line: Group, module: HotModule) -> bool:
    """Whether the line stands out and the module does not."""
    return account.share(module.time_ns) < STANDS_OUT <= account.share(line.time_ns)


def _of_module(findings: Findings, account: Account, line: Group, module: HotModule) -> Diagnosis:
    share = account.share(module.time_ns)
    times_ns = {phase: module.node.figures[f"{phase.name.lower()}_ns"] for phase in _COMPUTING}
    return replace(
        of_group(account, line, Cause.MODULE),
        time_ns=module.time_ns // account.steps,
        share=share,
        stands_out=share >= STANDS_OUT,
        gain=gain(share),
        phases={phase: time_ns for phase, time_ns in times_ns.items() if time_ns > 0},
        module=module.name,
    )


def _own_module(findings: Findings, account: Account) -> tuple[Diagnosis, set[int]] | None:
    """The module with most time of its own, if it stands out, and the lines of its operators."""
    hotspots = findings.get(StepHotspots)
    module = None if hotspots is None else own_module(findings.trace, hotspots.modules)
    leaves = account.leaves
    own = leaves.take(np.isin(leaves.module, () if module is None else module.node.modules))
    if module is None or len(own) == 0 or account.share(module.time_ns) < STANDS_OUT:
        return None
    lines = group(own)
    found = replace(_of_module(findings, account, lines, module), phases=lines.phases, is_own=True)
    return found, set(own.frame.tolist())
