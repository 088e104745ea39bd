"""Candidates for the bottleneck of a step: reducible parts of its time, the largest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perfprobe.models.waiting import is_busy, waited_ns
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.step_modules import HotModule, hot_module
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.rows.teams import ThreadProblemRow, problem_rows
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import Loops, StepPhase, StepTimes
from perfprobe.tables.teams import ThreadProblem
from perfprobe.tables.trace import Line, Phase, Trace

# The share of the step from which a candidate stands out. Every step must compute and update parameters, so
# there one line must have a large share, or the optimizer far more than its usual tenth.
_OUTSTANDING = {
    StepPhase.OPTIMIZER: 0.25,
    StepPhase.RECOMPUTE: 0.25,
    StepPhase.OTHER: 0.15,
}
_USUAL = 0.1
_LINE = 0.25
_MOST = 0.5  # of operator time: a line with more of it is not specific enough
_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD)
_OF_ROWS = {Phase.FORWARD: StepPhase.FORWARD, Phase.BACKWARD: StepPhase.BACKWARD}
_CROWDED = tuple(
    problem.name.lower() for problem in (ThreadProblem.AFFINITY, ThreadProblem.QUOTA, ThreadProblem.NESTED)
)
_THREADS_WAITED = 0.5  # of the CPU time, spent waiting for a processor


class Threads(NamedTuple):
    """Too many threads: how many torch uses, how many cores are allowed, waiting as a share of CPU time.

    problem: what `teams` found, if that says more than these numbers.
    """

    torch: int
    allowed: float
    waited: float
    problem: ThreadProblemRow | None = None


@frozen(kw_only=True)
class Candidate:
    """A part of a step's time.

    phase: None if the candidate is too many threads (`threads`). time_ns: its mean time in a step. share: its
    share of the steps. line: the user line with most of it. line_ns: the mean time of that line in a step.
    row: the operator, if it is one. module: the module, if the line calls a whole model. stands_out: whether
    it is large enough to be called a bottleneck.
    """

    phase: StepPhase | None
    time_ns: int
    share: float
    line: Line | None = None
    line_ns: int = 0
    row: OperatorRow | None = None
    module: HotModule | None = None
    threads: Threads | None = None
    stands_out: bool = False

    @property
    def gain(self) -> float | None:
        """How much faster steps could be at most without it: 1 / (1 - share); None if there is no bound.

        Amdahl's law (AFIPS 1967).
        """
        return None if self.phase is None or self.share >= 0.995 else 1 / (1 - self.share)


def candidates(findings: Findings) -> list[Candidate]:
    """All candidates of the leading loop: those that stand out first, then by share."""
    times, loops = findings[StepTimes], findings[StepTimes].loops
    if len(loops) == 0 or int(loops.total_ns[0]) <= 0:
        return []
    by_rows, by_samples = list(_rows(findings)), list(_phases(findings, times, loops))
    if is_busy(findings.trace):  # samples include all waiting
        known = {(each.phase, each.line) for each in by_rows}
        by_samples = [each for each in by_samples if (each.phase, each.line) not in known]
    found = [*by_samples, *by_rows, *_threads(findings, times)]
    return sorted(found, key=lambda each: (not each.stands_out, -each.share))


def _oversubscribed(findings: Findings) -> Threads | None:
    """The threads, if there are more than allowed processors and they waited; else None."""
    recording, cpu_ns = findings.trace.recording, findings.trace.cpu_ns
    torch, own_ns = recording.number("torch", "threads"), waited_ns(recording)
    allowed, problem = cores_allowed(findings), _crowded(findings)
    if torch is None or own_ns is None or allowed is None or not cpu_ns:
        return None
    if torch <= allowed and problem is None:
        return None
    waited = own_ns / cpu_ns
    return Threads(int(torch), allowed, waited, problem) if waited >= _THREADS_WAITED else None


def _crowded(findings: Findings) -> ThreadProblemRow | None:
    """The problem of threads that wait for each other, if its cause is not torch's number of threads."""
    rows = problem_rows(findings)
    return next((row for row in rows if row.problem in _CROWDED), None)


def cores_allowed(findings: Findings) -> float | None:
    """Returns how many processors the program may use at once, None if not known."""
    recording = findings.trace.recording
    known = [recording.number("host", name) for name in ("cores", "cores_allowed", "cgroup_cores")]
    return min((each for each in known if each), default=None)


def _phases(findings: Findings, times: StepTimes, loops: Loops) -> Iterator[Candidate]:
    """Yields each phase; for computing phases only the line with most time."""
    whole_ns, steps = int(loops.total_ns[0]), max(int(loops.steady[0]), 1)
    rows = times.phases.take(times.phases.loop == 0)
    columns = (rows.phase, rows.time_ns, rows.median_ns, rows.frame, rows.frame_ns)
    no_places = _no_places(findings.trace, loops)
    for phase, time_ns, median_ns, frame, frame_ns in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        line = findings.trace.line(frame)
        computes = phase in _COMPUTING
        if phase == StepPhase.OTHER and not knows_python(findings):
            continue
        if computes and (line is None or line in no_places):
            continue
        taken_ns = frame_ns if computes else time_ns
        limit = _LINE if computes else _OUTSTANDING.get(StepPhase(phase), _USUAL)
        least_ns: float = taken_ns
        if computes:
            least_ns -= _error_ns(findings.trace, frame_ns, time_ns)
        elif median_ns and is_busy(findings.trace):  # in some steps the phase waited for a processor
            least_ns = min(least_ns, median_ns * steps)
        yield Candidate(
            phase=StepPhase(phase),
            time_ns=taken_ns // steps,
            share=taken_ns / whole_ns,
            line=line,
            line_ns=frame_ns // steps,
            stands_out=least_ns >= limit * whole_ns,
        )


def knows_python(findings: Findings) -> bool:
    """Whether it is known what Python did between operators. In a trace only calls of Python show it."""
    recording = findings.trace.recording
    return not recording.is_trace or bool(recording.number("trace", "python_calls"))


def _no_places(trace: Trace, loops: Loops) -> set[Line | None]:
    """Lines that do not show what computes: the loop's own, and those that call backward."""
    engines = distinct(trace.sites.engine)
    calls = trace.sites.frame[engines[engines >= 0]]
    return {trace.line(int(loops.frame[0])), *(trace.line(frame) for frame in distinct(calls).tolist())}


def _error_ns(trace: Trace, part_ns: int, whole_ns: int) -> float:
    """The error in ns of a line's time in a phase: two standard errors of its share of the samples."""
    recording = trace.recording
    started_ns, stopped_ns, ticks = (
        recording.number("sampler", name) for name in ("started_ns", "stopped_ns", "ticks")
    )
    if started_ns is None or stopped_ns is None or not ticks or whole_ns <= 0:
        return 0
    samples = max(whole_ns * ticks / max(stopped_ns - started_ns, 1), 1)
    share = part_ns / whole_ns
    return float(2 * (max(share * (1 - share), 1 / samples) / samples) ** 0.5 * whole_ns)


def _rows(findings: Findings) -> Iterator[Candidate]:
    """The lines with most operator time in forward and in backward, and the largest operator there."""
    found = findings.get(StepHotspots)
    if found is None:
        return
    rows = step_operators(findings, 0)
    model = _whole_model(findings, rows)
    if model is not None:
        yield model
    for phase, step_phase in _OF_ROWS.items():
        by_line: dict[Line | None, list[OperatorRow]] = {}
        for row in rows:
            if row.ran.phase == phase.name.lower():
                by_line.setdefault(row.ran.origin, []).append(row)
        by_line.pop(None, None)
        sums_ns = {line: sum(row.ran.typical_ns for row in at) for line, at in by_line.items()}
        line = max(sums_ns, key=sums_ns.__getitem__, default=None)
        if line is not None and (model is None or line != model.line):
            yield _computing(found, step_phase, line, sums_ns[line], by_line[line][0])


def _whole_model(findings: Findings, rows: Sequence[OperatorRow]) -> Candidate | None:
    """The hottest module, if one line of the program calls it and has most of the operator time.

    A line in the module's own method says more than the module: it is a candidate like any other.
    """
    sums_ns: Counter[Line | None] = Counter()
    for row in rows:
        sums_ns[row.ran.origin] += row.ran.typical_ns
    (line, time_ns), *_ = sums_ns.most_common(1) or [(None, 0)]
    module = hot_module(findings) if line is not None and time_ns > _MOST * sums_ns.total() else None
    if module is None or line is None or line.function.rpartition(".")[0] in module.classes:
        return None
    found = findings[StepHotspots]
    return Candidate(
        phase=StepPhase.FORWARD,
        time_ns=module.time_ns // max(found.steps, 1),
        share=found.share(module.time_ns),
        line=line,
        module=module,
        stands_out=found.share(module.time_ns) >= _LINE,
    )


def _computing(
    found: StepHotspots, phase: StepPhase, line: Line, time_ns: int, first: OperatorRow
) -> Candidate:
    """A line with this operator time. first: its operator with most time, named if that is most of it."""
    share = found.share(time_ns)
    return Candidate(
        phase=phase,
        time_ns=time_ns // max(found.steps, 1),
        share=share,
        line=line,
        line_ns=time_ns // max(found.steps, 1),
        row=first if 2 * first.ran.typical_ns >= time_ns else None,
        stands_out=share >= _LINE,
    )


def _threads(findings: Findings, times: StepTimes) -> Iterator[Candidate]:
    """Too many threads, which slow everything that computes."""
    threads = _oversubscribed(findings)
    if threads is None:
        return
    rows = times.phases.take(times.phases.loop == 0)
    computing = (rows.phase == StepPhase.FORWARD) | (rows.phase == StepPhase.BACKWARD)
    computing |= rows.phase == StepPhase.OPTIMIZER
    time_ns, whole_ns = int(rows.time_ns[computing].sum()), int(times.loops.total_ns[0])
    steps = max(int(times.loops.steady[0]), 1)
    share = time_ns / whole_ns
    yield Candidate(phase=None, time_ns=time_ns // steps, share=share, threads=threads, stands_out=True)
