"""Whether a call runs as fast as this machine can, in one word that a measurement supports.

The rules are tried in the order of `KINDS`; the first that matches decides. An interval that lies across a
rule's edge decides nothing: the verdict is then `ambiguous`. Fractions above 100 % are shown as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perfprobe.models.modifiers import modifiers
from perfprobe.tables.measurements import Bound, Estimate, Measurement, Verdict

MEANING: dict[str, str] = {
    "not rebuilt": "The call could not be made from what was recorded, so nothing was measured.",
    "unstable": "Fresh processes disagree by more than 30 %: no number here can be relied on.",
    "unjudged": "There is no model of how much this operator must do, so its time is compared with nothing.",
    "overhead-bound": "At least half of the time is what the same operator takes for one element.",
    "allocation-bound": "At least 30 % of the time goes into page faults on new memory.",
    "model error": "Faster than a limit allows: the model of the work or its reference is wrong.",
    "compute-bound": "At least 60 % of the rate of this machine's best matrix product.",
    "memory-bound": "At least 60 % of the rate of a plain copy or sum of as many bytes, or a like gather.",
    "element-rate-bound": "At least 60 % of the rate at which such elements can be computed.",
    "below ceiling": "30 to 60 % of what the machine does at such work: there is room.",
    "inefficient": "Less than 30 % of what the machine does at such work.",
    "ambiguous": "The measured range lies in two of these classes.",
}
KINDS = tuple(MEANING)

# All provisional: chosen on one machine.
MOST_SPREAD = 0.30  # of the median; nine of ten calls stay below 0.2 even on a loaded machine
OVERHEAD = 0.5  # beyond it a faster kernel gains less than fewer calls
ALLOCATION = 0.3  # a third less time is the least worth another way to allocate
MODEL_ERROR = 1.15  # references timed against themselves differ by less
GOOD = 0.6  # below the worst operator known to be good (0.88), above the best known to be bad (0.47)
POOR = 0.3  # half of GOOD: three times the time that the limit takes is no matter of tuning

_LIMITED = {
    "gemm": "compute-bound",
    "memory": "memory-bound",
    "gather": "memory-bound",
    "element": "element-rate-bound",
}
# How the words of a reference begin that is no kernel of ours: at 100 % of it there may still be room.
TORCHS = "torch's own kernel"


def judge(measurement: Measurement) -> Verdict:
    """The verdict on one call.

    From `rotating` follows whether it is stable; from the bound "overhead", or `floor` by `rotating`, whether
    it is mostly dispatch; from `faults` and `fault_ns` whether it is mostly page faults; from the largest
    bound, how near it is to its limit. Modifiers come from counterfactuals, `other_threads` and `nested`.
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


def _unstable(measurement: Measurement) -> _Found | None:
    time = measurement.rotating
    assert time is not None
    spread = (time.high - time.low) / time.value if time.value > 0 else 0.0
    if spread <= MOST_SPREAD:
        return None
    return "unstable", f"unstable: spread {_percent(spread)} over {measurement.processes} processes"


def _unjudged(measurement: Measurement) -> _Found | None:
    return ("unjudged", "unjudged: no work model") if measurement.flops is None else None


def _overhead(measurement: Measurement) -> _Found | None:
    return _above(overhead(measurement), OVERHEAD, "overhead-bound", "floor is {} of time")


def _allocation(measurement: Measurement) -> _Found | None:
    part = _of_time(measurement, measurement.fault_ns)
    faults = f"{measurement.faults or 0:.0f} page faults per call"
    return _above(part, ALLOCATION, "allocation-bound", f"{faults}, {{}} of time")


def _above(part: Estimate | None, edge: float, kind: str, text: str) -> _Found | None:
    """The kind when the whole interval is at the edge or above, `ambiguous` when it lies across."""
    if part is None or part.high < edge:
        return None
    if part.low >= edge:
        return kind, f"{kind}: {text.format(_percent(part.value))}"
    return "ambiguous", f"ambiguous: {text.format(_range(part))}"


_RULES: tuple[Callable[[Measurement], _Found | None], ...] = (
    _not_rebuilt,
    _unstable,
    _unjudged,
    _overhead,
    _allocation,
)


def _by_limit(measurement: Measurement, bound: Bound | None) -> _Found:
    if bound is None:
        return "unjudged", "unjudged: no limit was measured beside it"
    fraction, limit = bound.fraction, _limit(bound)
    if fraction.low > MODEL_ERROR:
        return "model error", f"model error: {_percent(fraction.value)} of {limit}"
    if fraction.low >= GOOD:
        return _LIMITED[bound.kind], _at_limit(measurement, bound)
    if fraction.high < POOR:
        return "inefficient", f"inefficient: {_percent(fraction.value)} of {limit}"
    if fraction.low >= POOR and fraction.high < GOOD:
        return "below ceiling", f"below ceiling: {_percent(fraction.value)} of {limit}"
    return "ambiguous", f"ambiguous: {_range(fraction)} of {limit}"


def _at_limit(measurement: Measurement, bound: Bound) -> str:
    kind, part = _LIMITED[bound.kind], _percent(bound.fraction.value)
    if bound.kind == "element" and not bound.reference.startswith(TORCHS):
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
    """A bound in words."""
    if bound.kind == "gemm":
        return "GEMM peak"
    if bound.kind == "memory":
        return f"{bound.level or 'memory'} bandwidth"
    if bound.kind == "gather" or bound.reference.startswith(TORCHS):
        return bound.reference
    return f"{bound.reference} rate"


def largest_bound(measurement: Measurement) -> Bound | None:
    """The limit that the call is nearest to: what it would take alone is the most of all."""
    bounds = [bound for bound in measurement.bounds if bound.kind in _LIMITED]
    order = list(_LIMITED)
    return max(bounds, key=lambda bound: (bound.fraction.value, -order.index(bound.kind)), default=None)


def overhead(measurement: Measurement) -> Estimate | None:
    """The part of the time that the same operator takes for one element: paired, where that was measured."""
    paired = [bound.fraction for bound in measurement.bounds if bound.kind == "overhead"]
    if paired:
        return max(paired, key=lambda fraction: fraction.value)
    floor, time = measurement.floor, measurement.rotating
    if floor is None or time is None or time.low <= 0:
        return None
    return Estimate(floor.value / time.value, floor.low / time.high, floor.high / time.low)


def _of_time(measurement: Measurement, part_ns: float | None) -> Estimate | None:
    time = measurement.rotating
    if part_ns is None or time is None or time.low <= 0:
        return None
    return Estimate(part_ns / time.value, part_ns / time.high, part_ns / time.low)


def _percent(fraction: float) -> str:
    """Whole: a second digit of a judgement is noise already."""
    return f"{100 * fraction:.0f} %"


def _range(part: Estimate) -> str:
    return f"{100 * part.low:.0f}–{100 * part.high:.0f} %"
