"""What a step's time goes to that could be less: candidates for its bottleneck, the largest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perfprobe.models.waiting import is_busy, waited_ns
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.step_modules import HotModule, hot_module
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import Loops, StepPhase, StepTimes
from perfprobe.tables.trace import Line, Phase, Trace

# The share of the step from which each stands out. A step has to compute and to update parameters: there it
# takes one line with much of it, or an optimizer with far more than its usual tenth.
_OUTSTANDING = {
    StepPhase.OPTIMIZER: 0.25,
    StepPhase.RECOMPUTE: 0.25,
    StepPhase.OTHER: 0.15,
}
_USUAL = 0.1
_LINE = 0.25
_MOST = 0.5  # of operator time: a line with more of it says too little by itself
_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD)
_OF_ROWS = {Phase.FORWARD: StepPhase.FORWARD, Phase.BACKWARD: StepPhase.BACKWARD}
_THREADS_WAITED = 0.5  # of the CPU time, waited for a processor


class Threads(NamedTuple):
    """More threads than processors: torch's, the processors allowed, and the part of CPU time waited."""

    torch: int
    allowed: float
    waited: float


@frozen(kw_only=True)
class Candidate:
    """Something that takes time of a step.

    phase: None for threads, which `threads` tells of. time_ns: of a step, on average; share: of the steps.
    line: the user's line with most of it, and line_ns what of a step that has. row: the operator that takes
    it, where it is one. module: the module, where the line stands for a whole model. stands_out: whether it
    is large enough to be called a bottleneck.
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
        """How many times faster steps would be without it at most: 1 / (1 - share); None without a bound.

        Amdahl, AFIPS 1967.
        """
        return None if self.phase is None or self.share >= 0.995 else 1 / (1 - self.share)


def candidates(findings: Findings) -> list[Candidate]:
    """All of the leading loop's, what stands out first, and the largest share first."""
    times, loops = findings[StepTimes], findings[StepTimes].loops
    if len(loops) == 0 or int(loops.total_ns[0]) <= 0:
        return []
    by_rows, by_samples = list(_rows(findings)), list(_phases(findings, times, loops))
    if is_busy(findings.trace):  # samples are of the time with all waiting
        known = {(each.phase, each.line) for each in by_rows}
        by_samples = [each for each in by_samples if (each.phase, each.line) not in known]
    found = [*by_samples, *by_rows, *_threads(findings, times)]
    return sorted(found, key=lambda each: (not each.stands_out, -each.share))


def _oversubscribed(findings: Findings) -> Threads | None:
    """Whether torch has more threads than processors are allowed, and they waited for them; else None."""
    recording, cpu_ns = findings.trace.recording, findings.trace.cpu_ns
    torch, own_ns = recording.number("torch", "threads"), waited_ns(recording)
    allowed = cores_allowed(findings)
    if torch is None or own_ns is None or allowed is None or not cpu_ns or torch <= allowed:
        return None
    waited = own_ns / cpu_ns
    return Threads(int(torch), allowed, waited) if waited >= _THREADS_WAITED else None


def cores_allowed(findings: Findings) -> float | None:
    """How many processors the program could use at once, None not known."""
    recording = findings.trace.recording
    known = [recording.number("host", name) for name in ("cores", "cores_allowed", "cgroup_cores")]
    return min((each for each in known if each), default=None)


def _phases(findings: Findings, times: StepTimes, loops: Loops) -> Iterator[Candidate]:
    """Each phase; of those that compute only the line with most time."""
    whole_ns, steps = int(loops.total_ns[0]), max(int(loops.steady[0]), 1)
    rows = times.phases.take(times.phases.loop == 0)
    columns = (rows.phase, rows.time_ns, rows.frame, rows.frame_ns)
    no_places = _no_places(findings.trace, loops)
    for phase, time_ns, frame, frame_ns in zip(*(column.tolist() for column in columns), strict=True):
        line = findings.trace.line(frame)
        computes = phase in _COMPUTING
        if phase == StepPhase.OTHER and not knows_python(findings):
            continue
        if computes and (line is None or line in no_places):
            continue
        taken_ns = frame_ns if computes else time_ns
        limit = _LINE if computes else _OUTSTANDING.get(StepPhase(phase), _USUAL)
        least_ns = taken_ns - (_error_ns(findings.trace, frame_ns, time_ns) if computes else 0)
        yield Candidate(
            phase=StepPhase(phase),
            time_ns=taken_ns // steps,
            share=taken_ns / whole_ns,
            line=line,
            line_ns=frame_ns // steps,
            stands_out=least_ns >= limit * whole_ns,
        )


def knows_python(findings: Findings) -> bool:
    """Whether it is known what Python did between operators: of a trace, only with the calls of Python."""
    recording = findings.trace.recording
    return recording.fact("trace") is None or bool(recording.number("trace", "python_calls"))


def _no_places(trace: Trace, loops: Loops) -> set[Line | None]:
    """Lines that tell nothing of what computes: the loop's own, and those that call backward."""
    engines = distinct(trace.sites.engine)
    calls = trace.sites.frame[engines[engines >= 0]]
    return {trace.line(int(loops.frame[0])), *(trace.line(frame) for frame in distinct(calls).tolist())}


def _error_ns(trace: Trace, part_ns: int, whole_ns: int) -> float:
    """How far off a line's part of a phase may be: two standard errors of a share of that many samples."""
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
    """The hottest module, where one line of the program has most of the operator time, and it is within."""
    sums_ns: Counter[Line | None] = Counter()
    for row in rows:
        sums_ns[row.ran.origin] += row.ran.typical_ns
    (line, time_ns), *_ = sums_ns.most_common(1) or [(None, 0)]
    module = hot_module(findings) if line is not None and time_ns > _MOST * sums_ns.total() else None
    if module is None:
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
    """A line with so much operator time. first: the operator with most of it, named where that is most."""
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
    """Too many threads slow all that computes."""
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
