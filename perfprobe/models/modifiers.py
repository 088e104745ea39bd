"""Says what would make a call faster or slower, but only if it was measured.

A counterfactual counts if its whole interval is beyond 1.15x: two runs of the same call differ by less.
"""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.signature import parse, tensors
from perfprobe.support import units
from perfprobe.tables.measurements import Counterfactual, Estimate, Measurement

CLEAR = 1.15
TWO_THREADS = 1.3  # on two threads, less is poorly parallel: a third of the possible gain
EFFICIENCY = 0.6  # on more threads: least speed-up divided by threads
IDLE = 0.05  # CPU time of all other threads divided by the busiest thread's; below it they had no work
NESTED = 1 - 1 / CLEAR  # part of the time; without it the call would be 1.15x as fast

PURE_COPY = "pure copy: gains only if avoided"
OTHER_FAULTS = 0.1  # part of the time, by page faults that only the program or only bench has

_SILENT = ("not rebuilt", "not reproduced", "unstable")
# These only copy, so using memory fully is no merit.
_PURE_COPIES = ("clone", "contiguous", "copy", "copy_")
_FULL_SPEED = ("memory-bound", "allocation-bound")
# These operators are copies themselves, so a nested copy_ is expected.
_COPIES = ("clone", "contiguous", "_to_copy", "to", "reshape", "repeat", "constant_pad_nd", "pad", "type_as")


def modifiers(measurement: Measurement, kind: str) -> tuple[str, ...]:
    """Returns all modifiers that the counterfactuals support; none if the verdict is not reliable."""
    if kind in _SILENT:
        return ()
    return (
        *_faster(measurement, "equivalent", "faster form: {} would be {}"),
        *_pure_copy(measurement, kind),
        *_threads(measurement, kind),
        *_layout(measurement),
        *_faster(measurement, "channels_last", "layout-bound: {} would be {}"),
        *_faster(measurement, "padded", "shape-bound: padding {} gives {}"),
        *_values(measurement),
        *_faster(measurement, "flushed", "denormal results: {} (torch.set_flush_denormal) would be {}"),
        *_nested(measurement),
        *_faster(measurement, "dtype", "dtype-bound: {} would be {}"),
        *_faster(measurement, "recycled output", "fresh memory: {} gives {}"),
        *_other_faults(measurement),
    )


def _of(measurement: Measurement, kind: str) -> list[Counterfactual]:
    return [found for found in measurement.counterfactuals if found.kind == kind]


def _faster(measurement: Measurement, kind: str, text: str) -> Iterator[str]:
    """Yields the best change of this kind if it is clearly faster."""
    clear = [found for found in _of(measurement, kind) if found.speedup.low > CLEAR]
    for best in sorted(clear, key=lambda found: -found.speedup.value)[:1]:
        yield text.format(best.change, _times(best.speedup.value))


def _pure_copy(measurement: Measurement, kind: str) -> Iterator[str]:
    """Yields a note on a copy at full memory speed, which may be avoidable. Changing the dtype may not be."""
    dtypes = {tensor.dtype for tensor in tensors(parse(measurement.wanted.signature) or ())}
    if kind in _FULL_SPEED and _bare_name(measurement) in _PURE_COPIES and len(dtypes) == 1:
        yield PURE_COPY


def _other_faults(measurement: Measurement) -> Iterator[str]:
    """Yields a note if page faults differ in the program, where an allocator may keep memory."""
    seen, alone, one_ns = measurement.seen, measurement.faults, measurement.one_fault_ns
    if seen is None or seen.faults is None or not seen.calls or alone is None or measurement.rotating is None:
        return
    there = seen.faults / seen.calls
    if abs(there - alone) * (one_ns or 0.0) >= OTHER_FAULTS * measurement.rotating.value:
        memory = "used again" if there < alone else "fresh"
        counts = f"{units.count(round(there))} a call in the program, {units.count(round(alone))} by itself"
        yield f"page faults: {counts}; memory is {memory} there"


def _bare_name(measurement: Measurement) -> str:
    return measurement.wanted.operator.removeprefix("aten::").partition(".")[0]


def _threads(measurement: Measurement, kind: str) -> Iterator[str]:
    """Compares one thread with n: the gain of n threads is the inverse of the counterfactual's.

    A call that is mostly dispatch has no work to share, so it is only reported if threads make it slower.
    """
    threads = measurement.wanted.threads
    if threads == 1:
        yield from _faster(measurement, "threads", "one thread: {} would be {}")
    for found in _of(measurement, "threads")[:1] if threads > 1 else ():
        one = found.speedup
        if min(one.low, one.value) <= 0:
            continue
        on = f"{_times(1 / one.value)} on {threads}"
        if one.low > CLEAR:
            yield f"slower with threads: {on}"
        elif kind != "overhead-bound":
            yield from _poorly(measurement, one, f"{on} threads")


def _poorly(measurement: Measurement, one: Estimate, on: str) -> Iterator[str]:
    threads = measurement.wanted.threads
    least = TWO_THREADS if threads == 2 else EFFICIENCY * threads
    if 1 / one.low < least:
        yield f"poorly parallel: {on}"
    idle = measurement.other_threads is not None and measurement.other_threads < IDLE
    if idle and 1 / one.low < CLEAR:
        yield "serial kernel"


def _layout(measurement: Measurement) -> Iterator[str]:
    clear = [found for found in _of(measurement, "contiguous") if found.speedup.low > CLEAR]
    copied = [found.speedup for found in _of(measurement, "contiguous with copy")]
    for found in sorted(clear, key=lambda found: -found.speedup.value)[:1]:
        copy = f", {_between(copied[0])} incl. the copy" if copied else ""
        yield f"layout-bound: contiguous operand {_between(found.speedup)} faster{copy}"


def _values(measurement: Measurement) -> Iterator[str]:
    """Yields the range of speeds over values, from the slowest to the fastest; the call itself is 1."""
    speedups = [found.speedup for found in _of(measurement, "values")]
    if any(speedup.low > CLEAR or speedup.high < 1 / CLEAR for speedup in speedups):
        factors = [1.0, *(speedup.value for speedup in speedups)]
        yield f"value-sensitive: {_factor(min(factors))}–{_times(max(factors))} over values"


def _nested(measurement: Measurement) -> Iterator[str]:
    """Yields a note on a copy inside an operator that is no copy, as `out=` of composite operators makes."""
    part = sum(part for name, part in measurement.nested if name.removeprefix("aten::").startswith("copy_"))
    if part > NESTED and _bare_name(measurement) not in _COPIES:
        yield f"nested copy_: {units.whole_percent(part)} % of time"


def _between(factor: Estimate) -> str:
    low, high = _factor(factor.low), _factor(factor.high)
    return f"{high}x" if low == high else f"{low}–{high}x"


def _times(factor: float) -> str:
    return f"{_factor(factor)}x"


def _factor(factor: float) -> str:
    """Formats with about two digits: 0.48, 1.20, 13."""
    if factor >= 9.95:
        return str(round(factor))
    return units.tenths(factor) if factor >= 1.995 else units.hundredths(factor)
