"""Rule: the steps wait for data, or for work that is not the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.tables.account import Account, Group, LeafKind
from perfprobe.tables.diagnoses import Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.workers import WorkerFindings

_CAUSES = {
    LeafKind.DATA: Cause.DATA,
    LeafKind.COLLECTION: Cause.COLLECTION,
    LeafKind.COMPILE: Cause.COMPILE,
    LeafKind.IMPORT: Cause.IMPORT,
    LeafKind.RANKS: Cause.RANKS,
    LeafKind.LOCK: Cause.LOCK,
    LeafKind.GPU: Cause.GPU,
}


def waits(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    """A diagnosis for each of these parts of the account."""
    for kind, cause in _CAUSES.items():
        found = account.of(kind)
        if found is not None and found.time_ns > 0:
            judged = of_group(account, found, cause)
            is_start = cause is Cause.DATA and _has_only_started(findings)
            yield replace(judged, stands_out=False) if is_start else judged


def _has_only_started(findings: Findings) -> bool:
    """Whether the only step is the first, in which DataLoader's workers start: later ones may not wait."""
    times, workers = findings.get(StepTimes), findings.get(WorkerFindings)
    is_first = times is not None and int(times.loops.steps[0]) == 1
    return is_first and workers is not None and workers.made_batches


def of_group(account: Account, found: Group, cause: Cause) -> Diagnosis:
    """The diagnosis for a part of the account."""
    share = account.share(found.time_ns)
    return Diagnosis(
        cause=cause,
        time_ns=found.time_ns // account.steps,
        share=share,
        error=account.error(found),
        stands_out=share >= STANDS_OUT,
        gain=gain(share),
        frame=found.frame,
        line_ns=found.line_ns // account.steps,
        phases=found.phases,
        steps=found.steps,
    )
