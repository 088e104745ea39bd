"""The judgements about steps as rows, and the operators and modules that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfprobe.models.module_tree import HotModule, hot_module, own_module
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.row import place, values
from perfprobe.report.rows.step_rows import in_steps, step_operators
from perfprobe.support.frozen import frozen
from perfprobe.tables.account import LeafKind
from perfprobe.tables.columns import Mask, Rows, among, distinct
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis
from perfprobe.tables.events import Signatures
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase, Trace

_OF_ROWS = {
    StepPhase.FORWARD: Phase.FORWARD,
    StepPhase.BACKWARD: Phase.BACKWARD,
}


@frozen(kw_only=True)
class DiagnosisRow:
    """A judgement about the program, the bottleneck first.

    cause: its stable id. base: what `share` is of. time_ns: in a step; of the whole run for other bases than
    steps and gpu. error: two standard deviations of the share. stands_out: whether it may be the bottleneck.
    gain: how much faster the base would be without it, None where another change would do more. phases: the
    time of each, in a step. steps: in how many it was seen, None if not known.
    """

    cause: str
    base: str
    stands_out: bool
    time_ns: int
    share: float
    error: float
    gain: float | None
    line: Line | None = place()
    module: str | None
    operator: str | None
    phases: dict[str, int]
    steps: int | None


@frozen(kw_only=True)
class AccountRow:
    """A part of the time of the leading loop's steps. steps: in how many it was seen, None if not known.

    kind: what it is. time_ns: in all steps, without waiting for a processor, which is a row of its own.
    waited_ns: what was taken out. error_ns: two standard deviations.
    """

    kind: str
    phase: str
    line: Line | None = place()
    module: str | None
    time_ns: int
    operators_ns: int
    waited_ns: int
    error_ns: int
    steps: int | None


def diagnosis_rows(findings: Findings) -> list[DiagnosisRow]:
    """All judgements, the bottleneck first."""
    found = findings.get(Diagnoses)
    return [] if found is None else [_row(findings, each, found.steps) for each in found.found]


def _row(findings: Findings, each: Diagnosis, steps: int) -> DiagnosisRow:
    strings, imported = findings.trace.recording[Strings], each.imported
    parts = steps if each.base in (Base.STEPS, Base.GPU) else 1
    return DiagnosisRow(
        cause=each.cause.value,
        base=each.base.value,
        stands_out=each.stands_out,
        **{name: getattr(each, name) for name in ("time_ns", "share", "error", "gain", "module")},
        steps=_known(each.steps),
        line=findings.trace.line(each.frame) if imported is None else imported.line,
        operator=strings[each.name] if each.name >= 0 else None,
        phases={phase.name.lower(): time_ns // parts for phase, time_ns in each.phases.items()},
    )


def account_rows(findings: Findings) -> list[AccountRow]:
    """All parts, most time first."""
    found, trace = findings.get(StepHotspots), findings.trace
    if found is None:
        return []
    figures = ("time_ns", "operators_ns", "waited_ns", "error_ns")
    return [
        AccountRow(
            kind=LeafKind(row["kind"]).name.lower(),
            phase=StepPhase(row["phase"]).name.lower(),
            line=trace.line(row["frame"]),
            module=trace.module(row["module"]),
            **{name: row[name] for name in figures},
            steps=_known(row["steps"]),
        )
        for row in values(found.account.leaves)
    ]


def _known(steps: int) -> int | None:
    return steps if steps >= 0 else None


class OneOperator(NamedTuple):
    """All rows of one operator. row: the one with most time. signatures: their inputs, by id of the text."""

    row: OperatorRow
    rows: int
    typical_ns: int
    signatures: frozenset[int]


def operators_of(findings: Findings, each: Diagnosis) -> list[OneOperator]:
    """The operators of a judgement's line, or of its name; those of the rows with most time first."""
    if findings.get(StepHotspots) is None:
        return []
    key = (each.cause, each.name, each.frame, _phase_of(each))
    return findings.once(key, lambda: _by_operator(findings, np.flatnonzero(_is_of(findings, each))))


def _by_operator(findings: Findings, chosen: Rows) -> list[OneOperator]:
    """Groups these rows of `in_steps`. There may be thousands: only the first of each group is made."""
    rows = in_steps(findings).take(chosen)
    _, first, group = np.unique(rows.name, return_index=True, return_inverse=True)
    texts = np.append(findings.trace.recording[Signatures].text, -1)[rows.signature]
    first, group = np.sort(first), group.reshape(-1)
    found = []
    for row, at in zip(step_operators(findings, chosen[first]), first.tolist(), strict=True):
        own = group == group[at]
        typical_ns = int(rows.typical_ns[own].sum())
        found.append(OneOperator(row, int(own.sum()), typical_ns, frozenset(texts[own].tolist())))
    return found


def _phase_of(each: Diagnosis) -> Phase | None:
    """The phase of rows that a judgement about one phase is about; None for all."""
    return _OF_ROWS.get(each.phase) if each.phase is not None and len(each.phases) == 1 else None


def _is_of(findings: Findings, each: Diagnosis) -> Mask:
    """Which rows of `in_steps` are of the judgement's line, or of its name."""
    rows, trace = in_steps(findings), findings.trace
    if each.cause is Cause.OPERATOR:
        return np.asarray(rows.name == each.name)
    line, phase = trace.line(each.frame), _phase_of(each)
    if line is None:
        return np.zeros(len(rows), np.bool_)
    origin = np.where(rows.frame >= 0, rows.frame, rows.forward_frame)
    same = [frame for frame in distinct(origin[origin >= 0]).tolist() if _is_at(trace, frame, line)]
    chosen = among(origin, same)
    return chosen if phase is None else chosen & (rows.phase == phase)


def _is_at(trace: Trace, frame: int, line: Line) -> bool:
    found = trace.line(frame)
    return found is not None and found[:2] == line[:2]


def main_operator(operators: Sequence[OneOperator], time_ns: int) -> OneOperator | None:
    """The operator that has at least half of this time; None if none has."""
    return next((each for each in operators if 2 * each.typical_ns >= time_ns), None)


def module_of(findings: Findings, each: Diagnosis) -> HotModule | None:
    """The module that a judgement is about."""
    if each.cause is not Cause.MODULE:
        return None
    find = own_module if each.is_own else hot_module
    return find(findings.trace, findings[StepHotspots].modules)
