"""Rules: something outside of the steps took longer than all of them together, or much of the run.

Imports of libraries are left out, because in a recording of a few steps they always take longest. With
options such as `--steps 3:14`, all of start-up is.
"""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.limits import gain
from perfprobe.models.left_out import window_option
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StartUp, StartUpPart, StepTimes

_LEAST_NS = 500_000_000  # a shorter start-up is never a bottleneck
_MUCH = 0.2  # of the run
_PARTS = (
    *(StartUpPart.OTHER, StartUpPart.MODEL, StartUpPart.COMPILE),
    *(StartUpPart.WAITING, StartUpPart.CHILDREN),
)


def start_up(findings: Findings, known: StepTimes) -> Iterator[Diagnosis]:
    """The longest part, if it is that long. In a longer run the steps count."""
    yield from _longest(findings, known, known.start_up, Cause.START_UP)


def after_steps(findings: Findings, known: StepTimes) -> Iterator[Diagnosis]:
    """The same of the time after the first step and outside of all, such as after the last one."""
    yield from _longest(findings, known, known.after, Cause.AFTER)


def _longest(findings: Findings, known: StepTimes, rows: StartUp, cause: Cause) -> Iterator[Diagnosis]:
    wall_ns = findings.wall_ns
    stepping_ns = int((known.steps.end_ns - known.steps.start_ns).sum())
    columns = (rows.time_ns.tolist(), rows.kind.tolist(), rows.frame.tolist())
    parts = [part for part in zip(*columns, strict=True) if part[1] in _PARTS]
    time_ns, kind, frame = max(parts, key=lambda part: part[0], default=(0, 0, -1))
    if not wall_ns or time_ns < max(_MUCH * wall_ns, _LEAST_NS) or window_option(findings.trace.recording):
        return
    share = time_ns / wall_ns  # it stands out only if it is longer than the steps
    yield Diagnosis(
        cause=cause,
        base=Base.RUN,
        time_ns=time_ns,
        share=share,
        stands_out=time_ns >= stepping_ns,
        gain=None if kind == StartUpPart.CHILDREN else gain(share),
        frame=frame,
        phases={},
        part=StartUpPart(kind),
    )
