"""Rule: where no lines were recorded, one operator has a large part of the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.models.nodes import ENGINE
from perfprobe.tables.account import Account
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.strings import Strings


def operators(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    """The operator with most time among those without a line."""
    found = findings.get(StepHotspots)
    if found is None:
        return
    rows = found.hotspots.rows
    is_engine = findings.trace.recording[Strings].marks(lambda name: name.startswith(ENGINE))
    has_line = (rows.frame >= 0) | (rows.forward_frame >= 0)
    rows = rows.take((rows.name >= 0) & ~has_line & ~is_engine[rows.name])
    if len(rows) == 0:
        return
    sums_ns = np.zeros(int(rows.name.max()) + 1, np.int64)
    np.add.at(sums_ns, rows.name, rows.typical_ns)
    name = int(np.argmax(sums_ns))
    share = account.share(int(sums_ns[name]))
    yield Diagnosis(
        cause=Cause.OPERATOR,
        time_ns=int(sums_ns[name]) // account.steps,
        share=share,
        stands_out=share >= STANDS_OUT,
        gain=gain(share),
        phases={},
        steps=account.steps,
        name=name,
    )
