"""Decides whether a call runs as fast as this machine can, in one word that a measurement supports.

The first rule that matches decides. Rules use fractions of the call's time that were measured in pairs,
because times alone vary with all else that the machine does. An interval across a rule's threshold decides
nothing: the verdict is then `ambiguous`, or `unstable` if the interval is wide. Fractions above 100 % are not
clipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from perfprobe.models.modifiers import modifiers
from perfprobe.support import units
from perfprobe.tables.measurements import Bound, Estimate, Measurement, Verdict

MEANING: dict[str, str] = {
    "not rebuilt": "The call could not be made from what was recorded, so nothing was measured.",
    "not reproduced": "The call took over twice the CPU time in the program: values or memory differ there.",
    "unjudged": "No work model, or no limit but torch's own kernel, so its time cannot be compared.",
    "overhead-bound": "At least half of the time is overhead, which the operator also needs for one element.",
    "allocation-bound": "At least 30 % of the time goes into page faults on new memory.",
    "model error": "Faster than a limit allows: the work model or its reference is wrong.",
    "compute-bound": "At least 60 % of the rate of this machine's best matrix product.",
    "memory-bound": "At least 60 % of the rate of a plain copy, sum or gather of as many bytes.",
    "element-rate-bound": "At least 60 % of the rate at which this machine can compute such elements.",
    "below ceiling": "Less than 60 % of what this machine can do for such work: there is room to improve.",
    "inefficient": "Less than 30 % of what this machine can do for such work.",
    "ambiguous": "The measured range covers more than one of these verdicts.",
    "unstable": "The same, and the measuring processes differ by more than 30 %.",
}
KINDS = tuple(MEANING)

# All are provisional: chosen on one machine.
MOST_SPREAD = 0.30  # of a fraction; for nine of ten calls it is below 0.2 even on a loaded machine
NOT_REPRODUCED = 2.0  # CPU time in the program by isolated CPU time; caches and first calls explain less
OVERHEAD = 0.5  # above it, fewer calls gain more than a faster kernel
ALLOCATION = 0.3  # a gain of less than a third is not worth changing how memory is allocated
MODEL_ERROR = 1.15  # references timed against themselves differ by less
GOOD = 0.6  # below the worst operator known to be good (0.88), above the best known to be bad (0.47)
POOR = 0.3  # half of GOOD; at three times the limit's time, tuning alone does not help

_LIMITED = {
    "gemm": "compute-bound",
    "memory": "memory-bound",
    "gather": "memory-bound",
    "element": "element-rate-bound",
}
# The beginning of a reference's text if the kernel is torch's: 100 % of it is no limit of the machine.
TORCHS = "torch's own kernel"


def judge(measurement: Measurement) -> Verdict:
    """Returns the verdict on one call.

    `replay` decides whether the call behaves like the program's, if CPU time was recorded. The bound
    "overhead", or `floor` divided by `rotating`, decides whether it is mostly dispatch. `faults` and
    `fault_part` decide whether it is mostly page faults. The largest bound decides how near it is to its
    limit. Modifiers come from counterfactuals, `other_threads` and `nested`.
    """
    for rule in _RULES:
        verdict = rule(measurement)
        if verdict is not None:
            break
    else:
        verdict = _by_limit(measurement, largest_bound(measurement))
    kind, text = verdict
    return Verdict(kind, text, modifiers(measurement, kind))


_Found = tuple[str, str]


def _not_rebuilt(measurement: Measurement) -> _Found | None:
    if measurement.not_rebuilt is None and measurement.rotating is not None:
        return None
    return "not rebuilt", f"not rebuilt: {measurement.not_rebuilt or 'not measured'}"


def _not_reproduced(measurement: Measurement) -> _Found | None:
    """Does not apply without CPU time in the program, because wall time includes waiting."""
    seen, time = measurement.seen, measurement.rotating
    if seen is None or seen.cpu_ns is None or measurement.replay is None or time is None:
        return None
    there_ns = seen.cpu_ns / seen.calls
    alone_ns = max(measurement.replay * there_ns, time.value)  # in short calls a part is Python's own time
    if there_ns <= NOT_REPRODUCED * alone_ns:
        return None
    there, alone = units.duration(there_ns), units.duration(alone_ns)
    return "not reproduced", f"not reproduced: {there} of CPU time in the program, {alone} by itself"


def _unjudged(measurement: Measurement) -> _Found | None:
    return ("unjudged", "unjudged: no work model") if measurement.flops is None else None


def _overhead(measurement: Measurement) -> _Found | None:
    return _above(measurement, overhead(measurement), OVERHEAD, "overhead-bound", "floor is {} of time")


def _allocation(measurement: Measurement) -> _Found | None:
    faults = f"{round(measurement.faults or 0)} page faults per call"
    return _above(
        measurement, measurement.fault_part, ALLOCATION, "allocation-bound", f"{faults}, {{}} of time"
    )


def _above(
    measurement: Measurement, part: Estimate | None, edge: float, kind: str, text: str
) -> _Found | None:
    """Returns the kind if the whole interval is at or above the threshold."""
    if part is None or _rounded(part).high < edge:
        return None
    if _rounded(part).low < edge:
        kind = _undecided(part)
    return kind, f"{kind}: {text.format(_part(measurement, part))}{_by(measurement, kind)}"


def _undecided(part: Estimate) -> str:
    return "unstable" if part.high - part.low > MOST_SPREAD * part.value else "ambiguous"


def _by(measurement: Measurement, kind: str) -> str:
    return f" over {measurement.processes} processes" if kind == "unstable" else ""


_RULES: tuple[Callable[[Measurement], _Found | None], ...] = (
    _not_rebuilt,
    _not_reproduced,
    _unjudged,
    _overhead,
    _allocation,
)


def _by_limit(measurement: Measurement, bound: Bound | None) -> _Found:
    if bound is None:
        return "unjudged", "unjudged: no limit was measured beside it"
    kind = _class(bound)
    if kind == _LIMITED[bound.kind]:
        return (
            _by_torchs_own(measurement, bound) if _is_torchs(bound) else (kind, _at_limit(measurement, bound))
        )
    text = f"{kind}: {_part(measurement, bound.fraction)} of {_limit(bound)}{_by(measurement, kind)}"
    return kind, text


def _is_torchs(bound: Bound) -> bool:
    return bound.reference.startswith(TORCHS)


def _by_torchs_own(measurement: Measurement, bound: Bound) -> _Found:
    """As fast as torch's own kernel may be far from what the machine can do. Another limit may tell."""
    others = tuple(other for other in measurement.bounds if not _is_torchs(other))
    other = largest_bound(replace(measurement, bounds=others))
    if other is not None and _class(other) == _LIMITED[other.kind]:
        return _class(other), _at_limit(measurement, other)
    part = _part(measurement, bound.fraction)
    return "unjudged", f"unjudged: no independent limit known; {part} of {bound.reference}"


def _class(bound: Bound) -> str:
    """Returns the class of the whole interval, however wide it is."""
    is_wide = _undecided(bound.fraction) == "unstable"
    fraction = _rounded(bound.fraction)
    if fraction.low > MODEL_ERROR:
        return "model error"
    if fraction.low >= GOOD and not (is_wide and fraction.high > MODEL_ERROR):
        return _LIMITED[bound.kind]
    if fraction.high < GOOD:  # if the interval contains POOR, only the weaker word is certain
        return "inefficient" if fraction.high < POOR else "below ceiling"
    return _undecided(bound.fraction)


def _at_limit(measurement: Measurement, bound: Bound) -> str:
    kind, part = _LIMITED[bound.kind], _part(measurement, bound.fraction)
    if bound.kind == "element":
        return f"{kind} at {part} ({bound.reference})"
    if bound.kind != "gemm":
        return f"{kind} at {part} of {_limit(bound)}"
    return f"{kind} at {part} of GEMM peak ({', '.join(_circumstances(measurement))}{_isa(bound)})"


def _circumstances(measurement: Measurement) -> Iterator[str]:
    if measurement.dtype is not None:
        yield measurement.dtype
    if measurement.device == "cpu":
        threads = measurement.wanted.threads
        yield f"{threads} thread{'s' * (threads != 1)}"
    else:
        yield measurement.device


def _isa(bound: Bound) -> str:
    return "" if bound.isa_fraction is None else f"; {_percent(bound.isa_fraction)} of ISA peak"


def _limit(bound: Bound) -> str:
    """Returns a bound in words."""
    if bound.kind == "gemm":
        return "GEMM peak"
    if bound.kind == "memory":
        return f"{bound.level or 'memory'} bandwidth"
    if bound.kind == "gather" or _is_torchs(bound):
        return bound.reference
    return f"{bound.reference} rate"


def largest_bound(measurement: Measurement) -> Bound | None:
    """Returns the limit that the call is nearest to, which alone would take the longest time."""
    bounds = [bound for bound in measurement.bounds if bound.kind in _LIMITED]
    order = list(_LIMITED)
    return max(bounds, key=lambda bound: (bound.fraction.value, -order.index(bound.kind)), default=None)


def overhead(measurement: Measurement) -> Estimate | None:
    """Returns the part of the time that the operator takes for one element, paired if that was measured."""
    paired = [bound.fraction for bound in measurement.bounds if bound.kind == "overhead"]
    if paired:
        return max(paired, key=lambda fraction: fraction.value)
    floor, time = measurement.floor, measurement.rotating
    if floor is None or time is None or time.low <= 0:
        return None
    return Estimate(floor.value / time.value, floor.low / time.high, floor.high / time.low)


def _rounded(part: Estimate) -> Estimate:
    """Rounds as the report does: a word based on more digits could contradict the number beside it."""
    return Estimate(*(round(100 * each) / 100 for each in (part.value, part.low, part.high)))


def _percent(fraction: float) -> str:
    """Formats a whole percentage: more digits would be noise."""
    return f"{units.whole_percent(fraction)} %"


def _part(measurement: Measurement, part: Estimate) -> str:
    """Formats the fraction with its interval. One process has no interval."""
    low, high = units.whole_percent(part.low), units.whole_percent(part.high)
    interval = f" ({low}–{high})" if measurement.processes > 1 else ""
    return _percent(part.value) + interval
