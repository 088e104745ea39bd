"""Rule: of a line that calls the modules of a container one after another, those of one class take the time.

`for layer in self.layers: x = layer(x)` is a line that nobody can change. Where one class has most of it, the
line says as much.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT
from perfprobe.diagnose.waits import of_group
from perfprobe.tables.account import Account, Group, Leaves, group
from perfprobe.tables.columns import distinct
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.stacks import Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_MOST = 2 / 3  # of the line


def by_class(findings: Findings, account: Account, line: Group) -> list[Diagnosis]:
    """A judgement for each class, most time first; none if it is no such line, or no class stands out."""
    if account.share(line.time_ns) < STANDS_OUT:
        return []
    trace, leaves = findings.trace, account.leaves
    leaves = leaves.take((leaves.frame == line.frame) & (leaves.module >= 0))
    classes = _classes(trace, leaves)
    found = [
        _of_class(findings, account, leaves.take(np.isin(leaves.module, modules)), kind, len(modules))
        for kind, modules in classes.items()
    ]
    found.sort(key=lambda each: -each.share)
    is_mixed = len(found) > 1 and found[0].share < _MOST * account.share(line.time_ns)
    return found if is_mixed and found[0].stands_out else []


def _classes(trace: Trace, leaves: Leaves) -> dict[str, list[int]]:
    """The modules by class, if all are numbered parts of one container; else none."""
    modules, strings = trace.recording[Modules], trace.recording[Strings]
    called = distinct(leaves.module).tolist()
    parents = {int(modules.parent[each]) for each in called}
    is_numbered = all(strings[modules.name[each]].isdecimal() for each in called)
    found: dict[str, list[int]] = {}
    if len(parents) == 1 and is_numbered and -1 not in parents:
        for each in called:
            found.setdefault(trace.module_types[each], []).append(each)
    return found


def _of_class(findings: Findings, account: Account, own: Leaves, kind: str, number: int) -> Diagnosis:
    trace = findings.trace
    parent = trace.module(int(trace.recording[Modules].parent[own.module[0]])) or ""
    name = f"{number:,} {kind} of {parent}" if parent else f"{number:,} {kind}"
    return replace(of_group(account, group(own), Cause.MODULES), module=name)
