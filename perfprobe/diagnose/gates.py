"""Limits for changes, which continuous integration sets. A change fails only if it is larger, and certain."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from perfprobe.models.compared import Change, Comparison, Count, Gate, GateResult, Outcome
from perfprobe.models.paired import FEWEST
from perfprobe.support import units
from perfprobe.support.errors import UsageError
from perfprobe.support.nearest import suggestion
from perfprobe.tables.steps import StepPhase

_OPTION = "--fail-on"
_EXPRESSION = re.compile(
    r"\s*([a-z_]+(?:\.[a-z_]+)?)\s*(?:>\s*(\d{1,12}(?:\.\d{1,9})?)\s*(%|[A-Za-z]+)?\s*)?"
)
_TIMES = {"us": 1e3, "ms": 1e6, "s": 1e9}
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Names that gates have for counts.
_COUNTS = {
    "calls": "operator calls",
    "launches": "launches",
    "copies": "copies",
    "copied_bytes": "copied bytes",
    "flops": "FLOPs",
    "recompiles": "recompiles",
    "dtype": "dtypes",
    "shape": "shapes",
}
_TEXTS = ("dtype", "shape")  # any change
_FIGURES = ("start_up", "peak_memory", "evaluation", "compilation", "gpu_idle", "gpu_kernels", "gpu_copies")
_PHASES = {f"phase.{phase.name.lower()}": phase for phase in StepPhase}
NAMES = ("step", *_FIGURES, *_COUNTS, *_PHASES)


def gates(expressions: Sequence[str]) -> tuple[Gate, ...]:
    """The limits. Raises UsageError if one is not of the form `step>3%`."""
    return tuple(map(_gate, expressions))


def _gate(text: str) -> Gate:
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise UsageError("not a limit", f"{_OPTION} {text!r}", "write it like step>3% or calls>0")
    name, number, unit = found[1], found[2], found[3] or ""
    if name not in NAMES:
        remedy = suggestion(name, NAMES, f"choose from {', '.join(NAMES[:8])}, phase.data")
        raise UsageError("there is no such figure to limit", f"{_OPTION} {name}", remedy)
    if name in _TEXTS and number is not None:
        raise UsageError("any change counts, without a limit", f"{_OPTION} {text!r}", f"write {name}")
    if name not in _TEXTS and number is None:
        example = f"{name}>{'0' if name in _COUNTS else '3%'}"
        raise UsageError("a limit is missing", f"{_OPTION} {text!r}", f"write it like {example}")
    if unit not in _units_of(name):
        known = ", ".join(filter(None, _units_of(name)))
        raise UsageError("not a unit of this figure", f"{_OPTION} {text!r}", f"use {known}")
    return Gate(text=text.strip(), name=name, limit=None if number is None else float(number), unit=unit)


def _units_of(name: str) -> Sequence[str]:
    if name in _COUNTS:
        return ("", "%")
    if name == "peak_memory":
        return ("%", *_SIZES)
    return ("%",) if name == "gpu_idle" else ("%", *_TIMES)


def judged(found: Comparison, limits: Sequence[Gate]) -> tuple[GateResult, ...]:
    """What comes of these limits."""
    return tuple(_judged(found, gate) for gate in limits)


def exit_code(results: Sequence[GateResult], *, fail_on_unknown: bool = False) -> int:
    """5 if a limit was exceeded, else 0. fail_on_unknown: also where it cannot be told."""
    bad = {Outcome.FAILED, *([Outcome.UNKNOWN] if fail_on_unknown else [])}
    return 5 if any(result.outcome in bad for result in results) else 0


def _judged(found: Comparison, gate: Gate) -> GateResult:
    if gate.name in _COUNTS:
        count = next((each for each in found.counts if each.name == _COUNTS[gate.name]), None)
        outcome, why = _of_count(gate, count)
    elif not found.is_comparable:
        outcome, why = Outcome.UNKNOWN, "not comparable"
    elif gate.name == "step":
        outcome, why = _of_step(found, gate)
    else:
        outcome, why = _of_change(found, gate, *_changed(found, gate))
    return GateResult(gate=gate, outcome=outcome, why=why)


def _of_count(gate: Gate, count: Count | None) -> tuple[Outcome, str]:
    """Counts have no noise, but a program may be different in each run."""
    if count is None or count.before is None or count.after is None:
        return Outcome.UNKNOWN, "not recorded"
    said = f"{_shown(count.before)} -> {_shown(count.after)}"
    if not count.differs or not _exceeds(gate, count):
        return Outcome.PASSED, "no change" if not count.differs else said
    return (Outcome.FAILED, said) if count.is_certain else (Outcome.UNKNOWN, f"{said}, not in every step")


def _exceeds(gate: Gate, count: Count) -> bool:
    before, after = count.before, count.after
    if gate.limit is None or isinstance(before, str) or isinstance(after, str):
        return True
    if before is None or after is None:
        return False
    limit = gate.limit / 100 * before if gate.unit == "%" else gate.limit
    return after - before > limit


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else units.count(round(value))


def _of_step(found: Comparison, gate: Gate) -> tuple[Outcome, str]:
    step, step_ns = found.step, found.step_ns
    if step is None or step_ns is None:
        return Outcome.UNKNOWN, "no steps"
    if not found.paired or step.low is None or step.high is None:
        return Outcome.UNKNOWN, too_few(found)
    assert gate.limit is not None
    if gate.unit == "%":
        change = Change(1.0, step.ratio, step.low - 1, step.high - 1)
        return _decided(change, gate.limit / 100, f"{units.change(step.ratio - 1)} %")
    before = step_ns.before
    change = Change(before, before * step.ratio, before * (step.low - 1), before * (step.high - 1))
    return _decided(change, gate.limit * _TIMES[gate.unit], _signed(change.by))


def _changed(found: Comparison, gate: Gate) -> tuple[Change | None, float, Callable[[float], str]]:
    """The change of a measured figure, what 100 % of it are, and how it is written."""
    if gate.name in _PHASES:
        step = found.step_ns
        return found.phases.get(_PHASES[gate.name]), 0.0 if step is None else step.before, _signed
    change = found.figures.get(gate.name)
    if gate.name == "gpu_idle":
        return change, 1.0, lambda by: f"{units.change(by)} points"
    whole = 0.0 if change is None else change.before
    return change, whole, _signed_size if gate.name == "peak_memory" else _signed


def _of_change(
    found: Comparison, gate: Gate, change: Change | None, whole: float, said: Callable[[float], str]
) -> tuple[Outcome, str]:
    if change is None:
        return Outcome.UNKNOWN, "not measured"
    if change.low is None:
        return Outcome.UNKNOWN, too_few(found)
    assert gate.limit is not None
    scale = whole / 100 if gate.unit == "%" else (_TIMES | _SIZES)[gate.unit]
    return _decided(change, gate.limit * scale, said(change.by))


def _decided(change: Change, limit: float, said: str) -> tuple[Outcome, str]:
    """Failed: larger than the limit, and certain. Passed: a larger one is ruled out."""
    assert change.low is not None
    assert change.high is not None
    if change.by > limit and change.low > 0:
        return Outcome.FAILED, said
    return (Outcome.PASSED if change.high <= limit else Outcome.UNKNOWN), said


def too_few(found: Comparison) -> str:
    """Why nothing is certain."""
    if found.unpaired:
        return found.unpaired
    number = min(found.runs)
    return f"{number} pair{'' if number == 1 else 's'}: {FEWEST} are needed"


def _signed(time_ns: float) -> str:
    return f"{'+' if time_ns >= 0 else ''}{units.duration(time_ns)}"


def _signed_size(size_bytes: float) -> str:
    return f"{'+' if size_bytes >= 0 else ''}{units.size(size_bytes)}"
