"""Evaluations on the first screen, if they are a noteworthy part of the time of the loops."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.loader import awaited_loader, worker_lines
from perfprobe.report.section.screen.places import at_most, facts_of, place_in, whole_percent
from perfprobe.support import units
from perfprobe.tables.diagnoses import Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import INFERENCE_TEXTS, StepPhase

_MOST_PARTS = 3


def evaluation_lines(findings: Findings, found: Diagnosis, label: str) -> Iterator[ScreenRow]:
    """The line with this label; for SLOW what they consist of, and GAIN."""
    facts = facts_of(findings, found)
    which = "evaluation or rollout" if found.steps == 1 else f"{found.steps:,} evaluations or rollouts"
    text = f"{which}, {units.duration(found.time_ns)} = {whole_percent(found.share)}"
    is_first = label == "SLOW"
    yield said(
        label, f"{text} of the loop", *place_in(facts["line"]), style="bold" if is_first else "", **facts
    )
    if is_first:
        yield said("", "between training steps", *listed(_parts(found), first=": "))
        yield from _loader(findings, found)
        if found.gain is not None:
            yield said("GAIN", at_most(found.gain), " (bounded, not measured)", share=found.share)


def _loader(findings: Findings, found: Diagnosis) -> Iterator[ScreenRow]:
    """What helps if most of it is waiting for workers that start in each."""
    loader = awaited_loader(findings)
    waits = 2 * found.phases.get(StepPhase.DATA, 0) > sum(found.phases.values())
    if loader is not None and waits and loader.verdict.mostly_starts:
        yield from worker_lines(findings, loader)


def _parts(found: Diagnosis) -> Iterator[str]:
    """`model 67 %`, `other 32 %`: the largest phases."""
    whole_ns = max(sum(found.phases.values()), 1)
    for phase, time_ns in list(found.phases.items())[:_MOST_PARTS]:
        if is_named(time_ns, whole_ns):
            yield f"{INFERENCE_TEXTS[phase]} {whole_percent(time_ns / whole_ns)}"
