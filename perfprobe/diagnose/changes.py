"""Rule: where two versions of a program differ, and what is worth saying about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from perfprobe.models.compared import NAMED_PHASES, Change, Changed, Comparison, PartChange, Spot
from perfprobe.models.paired import LIMIT
from perfprobe.tables.steps import StepPhase

_MOST = 3
_WORTH = 0.01  # of the step: smaller differences are not named
_MAIN = 0.7  # of a spot's difference: its row is named
_SAME = 0.01  # of the step
_NAMED = (*NAMED_PHASES, StepPhase.OPTIMIZER)
_LEAST_NS = {"start_up": 50e6, "evaluation": 1e6, "compilation": 50e6}
_FIGURES = {"start_up": 0.1, "peak_memory": 0.03, "evaluation": 0.1, "compilation": 0.2}


def changes(found: Comparison, limit: float = LIMIT) -> Changed:
    """What to say of a comparison. limit: a smaller change of the step does not matter."""
    step_ns = 0.0 if found.step_ns is None else max(found.step_ns[:2])
    spots = _ranked(_spots(found.rows), 0.0 if found.step_ns is None else found.step_ns.by)
    worth = [spot for spot in spots if abs(spot.by_ns) > _WORTH * step_ns and _may_be(spot, found)]
    same = [phase for phase, each in found.phases.items() if _is_same(each, step_ns)]
    return Changed(
        verdict=found.verdict(limit),
        limit=limit,
        where=worth[0] if worth else None,
        also=worth[1 : _MOST + 1],
        phase=_phase(found, worth[0].by_ns if worth else 0.0),
        same=same,
        same_ns=max((abs(found.phases[phase].by) for phase in same), default=0.0),
        figures=[
            name
            for name, least in _FIGURES.items()
            if _has_changed(found.figures.get(name), least, _LEAST_NS.get(name, 0))
        ],
    )


def _phase(found: Comparison, most_ns: float) -> StepPhase | None:
    """The phase with nearly all of the difference, if no line has as much of it."""
    by_ns = 0.0 if found.step_ns is None else found.step_ns.by
    for phase, each in found.phases.items():
        if phase in _NAMED and each.by * by_ns > 0 and abs(each.by) >= _MAIN * abs(by_ns) > abs(most_ns):
            return phase
    return None


def _may_be(spot: Spot, found: Comparison) -> bool:
    """Whether a difference may be named: with pairs only one that is certain."""
    return spot.is_certain or spot.time_ns.low is None or not found.paired


def _spots(rows: Iterable[PartChange]) -> list[Spot]:
    """The rows by line; what has no line by kind and operator."""
    places: dict[object, list[PartChange]] = defaultdict(list)
    for row in rows:
        part = row.part
        place = (part.path, part.line) if part.path else (part.kind, part.operator or part.phase, part.module)
        places[place].append(row)
    return [_spot(each) for each in places.values()]


def _spot(rows: Sequence[PartChange]) -> Spot:
    by_ns = sum(row.time_ns.by for row in rows)
    ranked = sorted(rows, key=lambda row: -row.time_ns.by if by_ns > 0 else row.time_ns.by)
    first = ranked[0]
    same_sign = [row for row in ranked if row.time_ns.by * by_ns > 0]
    phases = {row.part.phase for row in same_sign if abs(row.time_ns.by) > (1 - _MAIN) * abs(by_ns)}
    return Spot(
        part=first.part,
        phase=phases.pop() if len(phases) == 1 else None,
        main=first if abs(first.time_ns.by) >= _MAIN * abs(by_ns) else None,
        rows=ranked,
        time_ns=_sum(rows),
        is_certain=2 * abs(sum(row.time_ns.by for row in same_sign if row.is_certain)) >= abs(by_ns) > 0,
    )


def _sum(rows: Sequence[PartChange]) -> Change:
    """All rows together; the interval is that of the only one."""
    if len(rows) == 1:
        return rows[0].time_ns
    lows = [row.time_ns.low for row in rows]
    before, after = (sum(row.time_ns[side] or 0 for row in rows) for side in (0, 1))
    first = max(rows, key=lambda row: abs(row.time_ns.by)).time_ns
    return Change(before, after, None if None in lows else first.low, None if None in lows else first.high)


def _ranked(spots: Sequence[Spot], by_ns: float) -> list[Spot]:
    """The spots that explain the step's difference first, most of it first, then those against it."""
    sign = -1 if by_ns < 0 else 1
    return sorted(spots, key=lambda spot: (sign * spot.by_ns <= 0, -abs(spot.by_ns)))


def _is_same(each: Change, step_ns: float) -> bool:
    return abs(each.by) <= _SAME * step_ns and not (
        each.low is not None and each.is_certain and abs(each.by) > 0
    )


def _has_changed(each: Change | None, least: float, least_ns: float) -> bool:
    """Whether a figure changed by so much of itself, and, with pairs, for certain."""
    if each is None or abs(each.by) <= max(least * max(each[:2]), least_ns):
        return False
    return each.low is None or each.is_certain
