"""The judgements about steps as rows, and the operators and modules that they are about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.models.module_tree import HotModule, hot_module, own_module
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.row import place, values
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.support.frozen import frozen
from perfprobe.tables.account import LeafKind
from perfprobe.tables.columns import Mask
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase

_OF_ROWS = {
    StepPhase.FORWARD: Phase.FORWARD.name.lower(),
    StepPhase.BACKWARD: Phase.BACKWARD.name.lower(),
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


def operators_of(findings: Findings, each: Diagnosis) -> list[OperatorRow]:
    """The operators of a judgement's line, or of its name, most time first."""
    if findings.get(StepHotspots) is None:
        return []
    table = findings[StepHotspots].hotspots.rows
    if each.cause is Cause.OPERATOR:
        return step_operators(findings, 0, table.name == each.name)
    line = findings.trace.line(each.frame)
    if line is None:
        return []
    rows = step_operators(findings, 0, _from_line(findings, table, line))
    phases = _OF_ROWS.get(each.phase) if each.phase is not None and len(each.phases) == 1 else None
    return [row for row in rows if phases is None or row.ran.phase == phases]


def _from_line(findings: Findings, rows: HotspotRows, line: Line) -> Mask:
    """Which rows are of this line, whatever the function. Only different lines are looked up."""
    trace = findings.trace
    pairs, number = np.unique(np.stack([rows.frame, rows.forward_frame]), axis=1, return_inverse=True)
    origins = [trace.line(own) or trace.line(forward) for own, forward in pairs.T.tolist()]
    found = np.array([each is not None and each[:2] == line[:2] for each in origins], np.bool_)
    return np.asarray(found[number.reshape(-1)])


def main_operator(rows: Sequence[OperatorRow], time_ns: int) -> list[OperatorRow]:
    """The rows of the operator that has at least half of this time; none if no operator has."""
    by_name: dict[str | None, list[OperatorRow]] = {}
    for row in rows:
        by_name.setdefault(row.operator, []).append(row)
    for same in by_name.values():
        if 2 * sum(row.ran.typical_ns for row in same) >= time_ns:
            return same
    return []


def module_of(findings: Findings, each: Diagnosis) -> HotModule | None:
    """The module that a judgement is about."""
    if each.cause is not Cause.MODULE:
        return None
    find = own_module if each.is_own else hot_module
    return find(findings.trace, findings[StepHotspots].modules)
