"""All changes that rules propose, in one ranking: by what they save of the step at most."""

from __future__ import annotations

from perfprobe.diagnose.advice.attention import attention
from perfprobe.diagnose.advice.forms import faster_forms
from perfprobe.diagnose.advice.gpu import allocator, as_bytes, pinned, synchronised, tf32
from perfprobe.diagnose.advice.known import Known
from perfprobe.diagnose.advice.lacking import lacking
from perfprobe.diagnose.advice.loading import with_workers, workers
from perfprobe.diagnose.advice.measured import huge_pages, measured
from perfprobe.diagnose.advice.numbers import conversions, growing, slow_dtype
from perfprobe.diagnose.advice.short import compiled, larger_batches, tolist
from perfprobe.diagnose.advice.threading import (
    lock,
    more_threads,
    nested_threads,
    threads,
    wait_policy,
    worker_threads,
)
from perfprobe.diagnose.advice.training import (
    collection,
    logging,
    modes,
    no_grad,
    optimizer,
    recompiled,
    recompiled_in_run,
    recomputed,
    set_to_none,
    unused_forward,
)
from perfprobe.tables.advice import Advice, Change, Untold
from perfprobe.tables.diagnoses import Diagnoses
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes

_WORTH = 0.05  # of the steps: a smaller change is listed, but is not the first thing to do
_RULES = (
    *(workers, with_workers, threads, nested_threads, more_threads, worker_threads, wait_policy, lock),
    *(no_grad, unused_forward, optimizer, set_to_none, recomputed, modes, collection, logging, recompiled),
    *(compiled, larger_batches, tolist, slow_dtype, growing, conversions, attention, measured, huge_pages),
    *(faster_forms,),
    *(pinned, as_bytes, synchronised, tf32, allocator, lacking),
)


def advice(findings: Findings) -> Advice | None:
    """What to change in a program with steps; without, only what a rule about runs says. None if none can."""
    judged, rows = findings.get(Diagnoses), findings.get(StepHotspots)
    if judged is None or findings.get(StepTimes) is None:
        return None
    if rows is None or rows.account.own_ns <= 0:
        found = list(recompiled_in_run(findings))
    else:
        known = Known(findings, judged, rows.account, rows)
        found = [each for rule in _RULES for each in rule(known)]
    if rows is None and not found:
        return None
    saving = (each for each in found if isinstance(each, Change) and each.share > 0)
    changes = sorted(saving, key=lambda each: (-each.share, not each.tries))
    best = next((each for each in changes if each.share >= _WORTH), None)
    untold = tuple(each for each in found if isinstance(each, Untold))
    return Advice(tuple(changes), untold, best)
