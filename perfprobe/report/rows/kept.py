"""Rows of a run with `--keep slow`: the slow steps, step times over the run, and their drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfprobe.models.regular import distance
from perfprobe.report.rows.named import OF_CAUSES, is_named
from perfprobe.report.rows.row import place
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.kept import KeptRun, LineTime, SlowStep, Stretch
from perfprobe.tables.trace import Line


@frozen(kw_only=True)
class SlowStepRow:
    """A slow step.

    Attributes:
        more_ns: by how much it took longer than the median of all steps.
        causes: what took longer, and by how much.
        phases: the same by phase.
        line: the line that took longer by the largest amount.
        line_ns: that amount.
        operator: the operator with most of it.
    """

    step: int
    start_s: float
    time_ns: int
    more_ns: int
    is_kept: bool
    is_partial: bool
    causes: Sequence[tuple[str, int]]
    phases: Sequence[tuple[str, int]]
    line: Line | None = place()
    line_ns: float | None
    operator: str | None


@frozen(kw_only=True)
class CauseRow:
    """Slow steps with the same line. more_ns: by how much they took longer, together.

    every: the number of steps from one to the next, if at least four come at the same distance.
    """

    line: Line | None = place()
    steps: int
    more_ns: int
    every: int | None


@frozen(kw_only=True)
class CourseRow:
    """All steps in a stretch of time; start_s and end_s since the epoch.

    own_ns: mean duration without waiting for a processor; None if the waiting is not known.
    """

    start_s: float
    end_s: float
    steps: int
    slow: int
    median_ns: int
    p95_ns: int
    max_ns: int
    own_ns: int | None


@frozen(kw_only=True)
class DriftRow:
    """Medians of the first and last fifth of the time, and means without waiting for a processor.

    Attributes:
        change: of the median, relative to the first.
        noise: what such medians differ by anyway.
        own_first_ns: mean of a step without the time in which its thread waited for a processor.
        own_change: the change of that mean; None if the waiting is not known.
        is_clear: whether the program's own time changed by more than noise.
        lines: those with most of the change, each with its difference in a step.
    """

    first_ns: int
    last_ns: int
    change: float
    noise: float
    own_first_ns: int | None
    own_last_ns: int | None
    own_change: float | None
    is_clear: bool
    lines: Sequence[tuple[str, int, float]]


def slow_step_rows(findings: Findings) -> list[SlowStepRow]:
    """All slow steps, ordered by time."""
    run = findings[KeptRun]
    return [_row(step, run.median_ns) for part in run.parts for step in part.slow]


def _row(step: SlowStep, median_ns: int) -> SlowStepRow:
    more_ns = step.time_ns - median_ns
    first: LineTime | None = step.lines[0] if step.lines else None
    parts = [(part.what, part.more_ns) for part in step.parts if is_named(part.more_ns, more_ns, OF_CAUSES)]
    return SlowStepRow(
        step=step.number,
        start_s=step.start_s,
        time_ns=step.time_ns,
        more_ns=more_ns,
        is_kept=step.is_kept,
        is_partial=step.is_partial,
        causes=parts,
        phases=[each for each in step.phases if is_named(each[1], more_ns, OF_CAUSES)],
        line=None if first is None else first.line,
        line_ns=None if first is None else first.time_ns,
        operator=None if first is None else first.operator,
    )


def cause_rows(rows: Sequence[SlowStepRow]) -> list[CauseRow]:
    """The lines of slow steps, most time first."""
    steps: Counter[Line | None] = Counter(row.line for row in rows)
    more_ns: Counter[Line | None] = Counter()
    for row in rows:
        more_ns[row.line] += row.more_ns
    return [
        CauseRow(
            line=line,
            steps=steps[line],
            more_ns=ns,
            every=distance([row.step for row in rows if row.line == line]),
        )
        for line, ns in more_ns.most_common()
    ]


def course_rows(findings: Findings, most: int | None = None) -> list[CourseRow]:
    """All stretches. most: join them to at most this many, of about equal length.

    Percentiles of a joined stretch are the medians of those of its parts, weighted by steps.
    """
    stretches = [each for part in findings[KeptRun].parts for each in part.stretches]
    if most is None or len(stretches) <= most:
        return [_course([each]) for each in stretches]
    start_s, end_s = stretches[0].start_s, stretches[-1].end_s
    groups: dict[int, list[Stretch]] = {}
    for each in stretches:
        at = int((each.start_s - start_s) / max(end_s - start_s, 1e-9) * most)
        groups.setdefault(min(at, most - 1), []).append(each)
    return [_course(group) for _, group in sorted(groups.items())]


def _course(group: Sequence[Stretch]) -> CourseRow:
    return CourseRow(
        start_s=group[0].start_s,
        end_s=group[-1].end_s,
        steps=sum(each.steps for each in group),
        slow=sum(each.slow for each in group),
        median_ns=_weighted([(each.median_ns, each.steps) for each in group]),
        p95_ns=_weighted([(each.p95_ns, each.steps) for each in group]),
        max_ns=max(each.most_ns for each in group),
        own_ns=_own_mean(group),
    )


def _own_mean(group: Sequence[Stretch]) -> int | None:
    known = [(own_ns, each.steps) for each in group if (own_ns := each.own_ns) is not None]
    if len(known) < len(group):
        return None
    return round(sum(own_ns * steps for own_ns, steps in known) / max(sum(steps for _, steps in known), 1))


def _weighted(values: Sequence[tuple[int, int]]) -> int:
    ordered, half, seen = sorted(values), sum(steps for _, steps in values) / 2, 0
    for value, steps in ordered:
        seen += steps
        if seen >= half:
            return value
    return 0


def drift_rows(findings: Findings) -> list[DriftRow]:
    """One row; none if the run was too short."""
    found = findings[KeptRun].drift
    if found is None:
        return []
    lines = [(each.line.file, each.line.line, each.time_ns) for each in found.lines]
    return [
        DriftRow(
            first_ns=found.medians.first_ns,
            last_ns=found.medians.last_ns,
            change=found.medians.share,
            noise=found.medians.noise,
            own_first_ns=None if found.own is None else found.own.first_ns,
            own_last_ns=None if found.own is None else found.own.last_ns,
            own_change=None if found.own is None else found.own.share,
            is_clear=found.is_clear,
            lines=lines,
        )
    ]
