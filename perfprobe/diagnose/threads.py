"""Rule: more threads than processors, which slows everything that computes."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.seen import cores_allowed
from perfprobe.models.waiting import waited_ns
from perfprobe.tables.account import Account
from perfprobe.tables.diagnoses import Cause, Crowd, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.teams import ThreadProblem, ThreadProblems

_COMPUTING = (StepPhase.FORWARD, StepPhase.BACKWARD, StepPhase.OPTIMIZER)
_CROWDED = (ThreadProblem.AFFINITY, ThreadProblem.QUOTA, ThreadProblem.NESTED)
_WAITED = 0.5  # of the CPU time, spent waiting for a processor


def threads(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    """Too many threads, if they waited much for a processor."""
    crowd = _crowd(findings)
    if crowd is None:
        return
    phases = {phase: time_ns for phase, time_ns in account.phases().items() if phase in _COMPUTING}
    time_ns = sum(phases.values())
    yield Diagnosis(
        cause=Cause.THREADS,
        time_ns=time_ns // account.steps,
        share=account.share(time_ns),
        stands_out=True,
        phases=phases,
        steps=account.steps,
        crowd=crowd,
    )


def _crowd(findings: Findings) -> Crowd | None:
    """The threads, if there are more than allowed processors and they waited; else None."""
    recording, cpu_ns = findings.trace.recording, findings.trace.cpu_ns
    torch, own_ns = recording.number("torch", "threads"), waited_ns(recording)
    allowed, problem = cores_allowed(recording), _problem(findings)
    if torch is None or own_ns is None or allowed is None or not cpu_ns:
        return None
    if torch <= allowed and problem is None:
        return None
    waited = own_ns / cpu_ns
    return Crowd(int(torch), allowed, waited, problem) if waited >= _WAITED else None


def _problem(findings: Findings) -> str | None:
    """The problem of threads that wait for each other, if its cause is not torch's number of threads."""
    found = findings.get(ThreadProblems)
    names = [] if found is None else found.problem.tolist()
    return next((ThreadProblem(each).name.lower() for each in names if each in _CROWDED), None)
