"""Rule: much time of the run passes outside of operators: in a function, or with the main thread waiting."""

from __future__ import annotations

from perfprobe.diagnose.outside import Passed, busiest, longest_compile, longest_wait
from perfprobe.diagnose.own_time import own_wall_ns
from perfprobe.models.seen import has_few_samples
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, Outside
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import CallStructure
from perfprobe.tables.trace import Phase

_MINOR = 0.5  # if operators take a larger share of the wall time, Python is not mentioned
_NOTEWORTHY = 0.1  # Python is mentioned from this share of the wall time on


def outside(findings: Findings) -> Outside | None:
    """Where most of that time was spent.

    Imports and torch.compile come first if they took longer, because a longer run would not have more of
    them. Nothing if the time is small, or if operators take most of the run. Waiting counts only if it took
    longer than operators, or if these are negligible.
    """
    structure, hotspots, wall_ns = findings.get(CallStructure), findings.get(Hotspots), own_wall_ns(findings)
    if structure is None or not wall_ns or has_few_samples(structure) or findings.focus is not None:
        return None
    operators_ns = 0.0 if hotspots is None else _computing_ns(findings, hotspots)
    if operators_ns > _MINOR * wall_ns:
        return None
    trace, imports_ns = findings.trace, int(structure.imports.own_ns.sum())
    waiting = _diagnosis(Cause.WAITING, longest_wait(trace, structure), wall_ns)
    longest = _busiest(structure, busiest(trace, structure), wall_ns)
    if operators_ns < max(_NOTEWORTHY * wall_ns, waiting.time_ns) and waiting.time_ns > longest.time_ns:
        longest = waiting
    once = [
        _diagnosis(Cause.IMPORTS, Passed(imports_ns, -1, 0, -1), wall_ns),
        _diagnosis(Cause.COMPILE, longest_compile(trace, structure), wall_ns),
    ]
    once = sorted((each for each in once if each.time_ns > longest.time_ns), key=lambda each: -each.time_ns)
    return Outside(tuple(each for each in (*once, longest) if each.time_ns >= _NOTEWORTHY * wall_ns))


def _computing_ns(findings: Findings, hotspots: Hotspots) -> float:
    """Operator time of the busiest thread, without what torch.compile traces, at the rate at which it was
    recorded, and without its part of the waiting for a processor.
    """
    wall_ns, recorded_ns = own_wall_ns(findings), findings.operators_wall_ns
    rate = wall_ns / recorded_ns if wall_ns and recorded_ns else 1
    compile_ns = int(hotspots.ungrouped.self_ns[hotspots.ungrouped.phase == Phase.COMPILE].sum())
    return max(hotspots.totals.busiest_ns - compile_ns, 0) * rate


def _busiest(structure: CallStructure, found: Passed | None, wall_ns: int) -> Diagnosis:
    if found is None or found.time_ns <= wall_ns:
        return _diagnosis(Cause.PYTHON, found, wall_ns)
    whole_ns = max(structure.threads_ns, found.time_ns)  # on several threads
    return _diagnosis(Cause.PYTHON, found, whole_ns, Base.THREADS)


def _diagnosis(cause: Cause, found: Passed | None, whole_ns: int, base: Base = Base.RUN) -> Diagnosis:
    passed = Passed(0, -1, 0, -1) if found is None else found
    return Diagnosis(
        cause=cause,
        base=base,
        time_ns=passed.time_ns,
        share=passed.time_ns / whole_ns,
        stands_out=True,
        frame=passed.frame,
        line_ns=passed.line_ns,
        phases={},
        called=passed.called,
        lines=passed.lines,
    )
