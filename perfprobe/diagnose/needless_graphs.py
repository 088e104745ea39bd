"""Rule: autograd recorded in evaluations, or in calls of a model that is not trained."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import NeedlessGraph, NeedlessGraphs
from perfprobe.tables.steps import StepKind, Steps, StepTimes

_NOTEWORTHY = 0.01  # of all steps and evaluations


def needless_graphs(findings: Findings) -> NeedlessGraphs | None:
    """All kinds of such calls."""
    found = findings.get(StepTimes)
    return None if found is None else NeedlessGraphs(tuple(_found(found.steps)))


def _found(steps: Steps) -> Iterator[NeedlessGraph]:
    noteworthy_ns = _NOTEWORTHY * int((steps.end_ns - steps.start_ns).sum())
    for kind in (StepKind.INFERENCE, StepKind.EVALUATION):
        own = steps.take((steps.kind == kind) & (steps.graph >= 0))
        recorded = own.take(own.graph == 1)
        if len(recorded) and int((recorded.end_ns - recorded.start_ns).sum()) >= noteworthy_ns:
            yield NeedlessGraph(kind, len(recorded), len(own))
