"""Rules for a program without steps: waiting for data, Python, operators, imports.

Shares are of its time without waiting for a processor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.diagnose.device import device
from perfprobe.diagnose.own_time import own_part, own_wall_ns
from perfprobe.diagnose.short_in_run import short_in_run
from perfprobe.tables.columns import Mask
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, HottestOperator, Outside
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import CallStructure
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Trace
from perfprobe.tables.workers import WorkerFindings

_NEGLIGIBLE = 0.05  # with a smaller share of the wall time, operators are not what is slow
_NOTEWORTHY = 0.1  # of the wall time: waiting for data, operators beside something else, imports
_MOST = 0.5
_ONCE = (Cause.IMPORTS, Cause.COMPILE)


def of_run(findings: Findings, gpu: DeviceAccount | None) -> Iterator[Diagnosis]:
    """What takes the time, the bottleneck first. gpu: if it is what the run is judged by."""
    parts = [] if gpu is None else [*device(gpu, findings.trace.recording[Strings])]
    found = list(_data(findings)) if gpu is None else sorted(parts, key=_order)
    operators = list(_operators(findings))
    if not found:
        found = list(_computing(findings, operators))
    elif found[0].cause is Cause.DATA and _is_noteworthy(findings):
        found += operators
    yield from found
    imports = _imports(findings)
    if imports is not None and all(each.cause is not Cause.IMPORTS for each in found):
        yield imports


def _order(each: Diagnosis) -> tuple[bool, float]:
    """What is known comes first, then the largest share."""
    return each.cause is Cause.UNEXPLAINED, -each.share


def _data(findings: Findings) -> Iterator[Diagnosis]:
    """Waiting for DataLoader's workers, if it took longer than operators."""
    found, hotspots, wall_ns = findings.get(WorkerFindings), findings.get(Hotspots), findings.wall_ns
    loaders = None if found is None else found.loaders
    if loaders is None or not wall_ns:
        return
    waited_ns = int(loaders.waited_ns[loaders.batches > 0].max(initial=0))
    operators_ns = 0 if hotspots is None else hotspots.totals.busiest_ns
    if waited_ns > max(_NOTEWORTHY * wall_ns, operators_ns):
        share, time_ns = waited_ns / wall_ns, int(waited_ns * own_part(findings))
        yield Diagnosis(
            cause=Cause.DATA, base=Base.RUN, time_ns=time_ns, share=share, stands_out=True, phases={}
        )


def _computing(findings: Findings, operators: list[Diagnosis]) -> Iterator[Diagnosis]:
    """The longer of Python at any place and the operators. What happens only once comes first.

    Many short operators come before both: their calls are the Python.
    """
    outside = findings.get(Outside)
    python = [] if outside is None else [each for each in outside.found if each.cause is not Cause.IMPORTS]
    if not python:
        imports = _imports(findings)
        if _has_few_operators(findings) and imports is not None and imports.share >= _MOST:
            yield replace(imports, stands_out=True)
        yield from operators
        return
    short = short_in_run(findings)
    if short is not None and python[0].cause is Cause.PYTHON:
        yield from (short, *python)
        return
    operators = operators if _is_noteworthy(findings) else []
    is_once = any(each.cause in _ONCE for each in python)
    own_ns = findings[Hotspots].totals.busiest_ns * own_part(findings) if operators else 0
    is_longer = not is_once and any(each.share * own_ns > python[0].time_ns for each in operators)
    yield from [*operators, *python] if is_longer else [*python, *operators]


def _is_noteworthy(findings: Findings) -> bool:
    """Whether operators took so much of the time that the hottest of them may be the problem."""
    hotspots, wall_ns = findings.get(Hotspots), findings.operators_wall_ns
    return hotspots is not None and hotspots.totals.busiest_ns >= _NOTEWORTHY * (wall_ns or 0)


def _has_few_operators(findings: Findings) -> bool:
    """Whether operators took so little of a recorded program's wall time that they are not what is slow."""
    hotspots, wall_ns = findings.get(Hotspots), findings.operators_wall_ns
    if hotspots is None or not wall_ns or findings.trace.recording.is_trace or not findings.whole:
        return False
    return hotspots.totals.busiest_ns < _NEGLIGIBLE * wall_ns


def _imports(findings: Findings) -> Diagnosis | None:
    """All imports of libraries, if they took long."""
    structure, wall_ns = findings.get(CallStructure), own_wall_ns(findings)
    time_ns = 0 if structure is None else int(structure.imports.own_ns.sum())
    if not wall_ns or time_ns < _NOTEWORTHY * wall_ns:
        return None
    return Diagnosis(cause=Cause.IMPORTS, base=Base.RUN, time_ns=time_ns, share=time_ns / wall_ns, phases={})


def _operators(findings: Findings) -> Iterator[Diagnosis]:
    """The line or the operator with most operator time."""
    found = findings.get(HottestOperator)
    if found is None:
        return
    hotspots = findings[Hotspots]
    each = None if found.by_sum else _line(findings)
    if each is None:
        time_ns = int(hotspots.rows.self_ns[_alike(findings, found)].sum())
        share = time_ns / max(hotspots.totals.self_ns, 1)
        each = Diagnosis(
            cause=Cause.OPERATOR,
            base=Base.OPERATORS,
            time_ns=time_ns,
            share=share,
            phases={},
            name=int(hotspots.rows.name[found.row]),
            row=found.row,
        )
    yield replace(each, stands_out=not _has_few_operators(findings))


def _alike(findings: Findings, found: HottestOperator) -> Mask:
    """The row that is named first; where no line is known also those of its operator with other inputs."""
    rows = findings[Hotspots].rows
    own: Mask = np.arange(len(rows)) == found.row
    if found.by_sum or rows.has_lines():
        return own
    return np.asarray(own | ((rows.name == rows.name[found.row]) & (rows.phase == rows.phase[found.row])))


def _line(findings: Findings) -> Diagnosis | None:
    """The line with most operator time, if it has most of all and none of its rows has most of that."""
    rows, trace = findings[Hotspots].rows, findings.trace
    columns = (rows.frame.tolist(), rows.forward_frame.tolist(), rows.typical_ns.tolist())
    frame_of = {frames: _frame(trace, *frames) for frames in set(zip(*columns[:2], strict=True))}
    sums_ns, most_ns, first = Counter[Line](), Counter[Line](), dict[Line, int]()
    for own, forward, time_ns in zip(*columns, strict=True):
        frame, line = frame_of[own, forward]
        if line is not None:
            sums_ns[line] += time_ns
            most_ns[line] = max(most_ns[line], time_ns)
            first.setdefault(line, frame)
    whole_ns = int(np.sum(rows.typical_ns))
    line = max(sums_ns, key=sums_ns.__getitem__, default=None)
    if line is None or 2 * sums_ns[line] <= whole_ns or 2 * most_ns[line] >= sums_ns[line]:
        return None
    return Diagnosis(
        cause=Cause.LINE,
        base=Base.OPERATORS,
        time_ns=sums_ns[line],
        share=sums_ns[line] / whole_ns,
        frame=first[line],
        phases={},
    )


def _frame(trace: Trace, own: int, forward: int) -> tuple[int, Line | None]:
    """The user's line of an operator: of its own Python, else of the forward call."""
    line = trace.line(own)
    return (own, line) if line is not None else (forward, trace.line(forward))
