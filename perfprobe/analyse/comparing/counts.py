"""Numbers of both versions that have no noise: one run of each shows for certain that they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from perfprobe.analyse.comparing.run_parts import middle
from perfprobe.analyse.comparing.sides import RunSide, Side
from perfprobe.models import work
from perfprobe.models.compared import Count, Match, PartChange
from perfprobe.models.signature import parse, tensors
from perfprobe.tables.columns import Int64
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.gpu_findings import GpuFindings

_STEADY = 0.9  # of the steps have the same number
SAME = "same"


def counts(before: Side, after: Side, rows: Sequence[PartChange]) -> list[Count]:
    """Those that both versions have."""
    found = [_count(name, of_run, before, after) for name, of_run in _OF_RUNS]
    if rows:
        found += [_first("dtypes", _dtypes, rows), _first("shapes", _shapes, rows)]
    return [each for each in found if each.before is not None and each.after is not None]


_Known = tuple[float, bool]  # a number, and whether it is the same in nearly all steps


def _count(name: str, of_run: Callable[[RunSide], _Known | None], before: Side, after: Side) -> Count:
    sides = [
        [known for run in side.recorded if (known := of_run(run)) is not None] for side in (before, after)
    ]
    if not all(sides):
        return Count(name=name, before=None, after=None, is_certain=False)
    values = [sorted({value for value, _ in side}) for side in sides]
    is_steady = all(steady for side in sides for _, steady in side)
    is_certain = is_steady and all(len(each) == 1 for each in values)
    middle = [each[len(each) // 2] for each in values]
    return Count(name=name, before=middle[0], after=middle[1], is_certain=is_certain)


def _operators(run: RunSide) -> _Known | None:
    return None if run.of_steps is None else (run.of_steps.calls, run.of_steps.steady >= _STEADY)


def _in_steps(column: str) -> Callable[[RunSide], _Known | None]:
    """A column of `StepCounts`, of the steps of the leading loop that count."""

    def of_run(run: RunSide) -> _Known | None:
        found = step_values(run, column)
        if found is None or len(found) == 0:
            return None
        number, steady = middle(found)
        return float(number), steady >= _STEADY

    return of_run


def step_values(run: RunSide, column: str) -> Int64 | None:
    """A column of `StepCounts` by step, of the steps of the leading loop that count; None without a GPU."""
    gpu = run.found.get(GpuFindings)
    if gpu is None:
        return None
    chosen = (gpu.steps.loop == 0) & gpu.steps.counted()
    values = np.zeros(len(gpu.steps) + 1, np.int64)
    np.add.at(values, gpu.step_counts.step, getattr(gpu.step_counts, column))
    found: Int64 = values[:-1][chosen]
    return found


def _compiled(figure: Callable[[Compilations], float]) -> Callable[[RunSide], _Known | None]:
    """A number of what torch.compile made; 0 if a program that was recorded compiled nothing."""

    def of_run(run: RunSide) -> _Known | None:
        recording, found = run.run.trace.recording, run.found.get(Compilations)
        if found is None:
            return None if recording.is_trace or recording.is_benchmark else (0, True)
        return float(figure(found)), not found.is_cut

    return of_run


def _flops(run: RunSide) -> _Known | None:
    """Operations of a step by the work models; None if there is none for any operator."""
    amounts = [
        (part, each.calls) for part, each in (run.parts or {}).items() if part.operator and part.signature
    ]
    flops = [(work.flops(part.operator, part.signature), calls) for part, calls in amounts]
    known = [(each, calls) for each, calls in flops if each]
    if not known:
        return None
    is_steady = all(calls == round(calls) for _, calls in known)
    return float(round(sum(each * calls for each, calls in known))), is_steady


_OF_RUNS: tuple[tuple[str, Callable[[RunSide], _Known | None]], ...] = (
    ("operator calls", _operators),
    ("launches", _in_steps("kernels")),
    ("copies", _in_steps("copies")),
    ("copied bytes", _in_steps("copied_bytes")),
    ("FLOPs", _flops),
    ("compiled functions", _compiled(lambda found: len(found.functions))),
    ("recompiles", _compiled(lambda found: sum(each.number - 1 for each in found.functions))),
)


def _first(name: str, of_signature: Callable[[str], object], rows: Sequence[PartChange]) -> Count:
    """The first row whose calls differ in this, by the signatures with most time."""
    for row in rows:
        before, after = row.signatures
        if row.match in (Match.SAME, Match.EDITED) and before and after:
            texts = _only(before, after, of_signature), _only(after, before, of_signature)
            if any(texts):
                found = texts[0] or before[0], texts[1] or after[0]
                return Count(name=name, before=found[0], after=found[1], is_certain=True, line=row.part.place)
    known = any(side for row in rows for side in row.signatures)
    same = SAME if known else None
    return Count(name=name, before=same, after=same, is_certain=known)


def _only(signatures: Sequence[str], others: Sequence[str], of_signature: Callable[[str], object]) -> str:
    """The first of these whose dtypes or shapes none of the others has; "" if there is none."""
    known = {*map(of_signature, others)}
    return next((each for each in signatures if of_signature(each) not in known), "")


def _dtypes(signature: str) -> object:
    return tuple(each.dtype for each in tensors(parse(signature) or ()))


def _shapes(signature: str) -> object:
    return tuple(each.sizes for each in tensors(parse(signature) or ()))
