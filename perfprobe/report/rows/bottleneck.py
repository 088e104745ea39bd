"""What a step's time goes to that could be less: candidates for its bottleneck, the largest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import Loops, StepPhase, StepTimes
from perfprobe.tables.trace import Line, Phase

# The share of the step from which each stands out. A step has to compute and to update parameters: there it
# takes one line with much of it, or an optimizer with far more than its usual tenth.
_OUTSTANDING = {
    StepPhase.OPTIMIZER: 0.25,
    StepPhase.RECOMPUTE: 0.25,
    StepPhase.OTHER: 0.15,
}
_USUAL = 0.1
_LINE = 0.25
_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD)
_OF_ROWS = {Phase.FORWARD: StepPhase.FORWARD, Phase.BACKWARD: StepPhase.BACKWARD}
_THREADS_WAITED = 0.5  # of the CPU time, waited for a processor


@frozen(kw_only=True)
class Candidate:
    """Something that takes time of a step.

    phase: None for threads. time_ns: of a step, on average; share: of the steps. line: the user's line with
    most of it, and line_ns what of a step that has. row: the operator that takes it, where it is one.
    stands_out: whether it is large enough to be called a bottleneck.
    """

    phase: StepPhase | None
    time_ns: int
    share: float
    line: Line | None = None
    line_ns: int = 0
    row: OperatorRow | None = None
    stands_out: bool = False

    @property
    def gain(self) -> float | None:
        """How many times faster steps would be without it at most: 1 / (1 - share); None without a bound.

        Amdahl, AFIPS 1967.
        """
        return None if self.phase is None or self.share >= 0.995 else 1 / (1 - self.share)


class Threads(NamedTuple):
    """More threads than processors: torch's, the processors allowed, and the part of CPU time waited."""

    torch: int
    allowed: float
    waited: float


def candidates(findings: Findings) -> list[Candidate]:
    """All of the leading loop's, what stands out first, and the largest share first."""
    times, loops = findings[StepTimes], findings[StepTimes].loops
    if len(loops) == 0 or int(loops.total_ns[0]) <= 0:
        return []
    found = [*_phases(findings, times, loops), *_rows(findings, loops), *_threads(findings, times)]
    return sorted(found, key=lambda each: (not each.stands_out, -each.share))


def oversubscribed(findings: Findings) -> Threads | None:
    """Whether torch has more threads than processors are allowed, and they waited for them; else None."""
    recording, cpu_ns = findings.trace.recording, findings.trace.cpu_ns
    torch, waited_ns = recording.number("torch", "threads"), recording.number("processors", "waited_ns")
    allowed = cores_allowed(findings)
    if torch is None or waited_ns is None or allowed is None or not cpu_ns or torch <= allowed:
        return None
    waited = waited_ns / cpu_ns
    return Threads(int(torch), allowed, waited) if waited >= _THREADS_WAITED else None


def cores_allowed(findings: Findings) -> float | None:
    """How many processors the program could use at once, None not known."""
    recording = findings.trace.recording
    known = [recording.number("host", name) for name in ("cores", "cores_allowed", "cgroup_cores")]
    return min((each for each in known if each), default=None)


def _phases(findings: Findings, times: StepTimes, loops: Loops) -> Iterator[Candidate]:
    """Each phase; of those that compute only the line with most time."""
    whole_ns, steps = int(loops.total_ns[0]), max(int(loops.steady[0]), 1)
    loop_line = findings.trace.line(int(loops.frame[0]))
    rows = times.phases.take(times.phases.loop == 0)
    columns = (rows.phase, rows.time_ns, rows.frame, rows.frame_ns)
    for phase, time_ns, frame, frame_ns in zip(*(column.tolist() for column in columns), strict=True):
        line = findings.trace.line(frame)
        computes = phase in _COMPUTING
        if computes and (line is None or line == loop_line):
            continue
        taken_ns = frame_ns if computes else time_ns
        limit = _LINE if computes else _OUTSTANDING.get(StepPhase(phase), _USUAL)
        yield Candidate(
            phase=StepPhase(phase),
            time_ns=taken_ns // steps,
            share=taken_ns / whole_ns,
            line=line,
            line_ns=frame_ns // steps,
            stands_out=taken_ns >= limit * whole_ns,
        )


def _rows(findings: Findings, loops: Loops) -> Iterator[Candidate]:
    """The largest operators in forward and in backward."""
    found = findings.get(StepHotspots)
    if found is None:
        return
    seen = set()
    for row in step_operators(findings, 0):
        phase = next((_OF_ROWS[each] for each in _OF_ROWS if each.name.lower() == row.ran.phase), None)
        if phase is None or phase in seen:
            continue
        seen.add(phase)
        share = found.share(row.ran.typical_ns)
        yield Candidate(
            phase=phase,
            time_ns=row.ran.typical_ns // max(found.steps, 1),
            share=share,
            line=row.ran.line or row.ran.forward,
            row=row,
            stands_out=share >= _LINE,
        )


def _threads(findings: Findings, times: StepTimes) -> Iterator[Candidate]:
    """Too many threads slow all that computes."""
    if oversubscribed(findings) is None:
        return
    rows = times.phases.take(times.phases.loop == 0)
    computing = (rows.phase == StepPhase.FORWARD) | (rows.phase == StepPhase.BACKWARD)
    computing |= rows.phase == StepPhase.OPTIMIZER
    time_ns, whole_ns = int(rows.time_ns[computing].sum()), int(times.loops.total_ns[0])
    steps = max(int(times.loops.steady[0]), 1)
    yield Candidate(phase=None, time_ns=time_ns // steps, share=time_ns / whole_ns, stands_out=True)
