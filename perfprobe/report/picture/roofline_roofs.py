"""Selects the ceilings of a machine that are the roofs of a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from perfprobe.report.picture.roofline_points import Point
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.machine import Ceiling, Machine

MIXES = ("read", "write", "copy", "triad", "in place")
_SLOPE = "triad"  # two reads for each write: of all mixes the most similar to operators that calculate


@frozen
class Roofs:
    """The roofs of a picture.

    of: dtype and threads in words. product, peak: FLOP/s, None if not measured. others: products of the other
    dtypes of the operators, or of all dtypes without operators. levels: bytes/s by the level's name. curves:
    (footprint_bytes, bytes/s) for each mix of reads and writes.
    """

    of: str
    product: float | None
    product_text: str
    peak: float | None
    peak_text: str
    others: tuple[tuple[str, float], ...]
    levels: tuple[tuple[str, float], ...]
    curves: dict[str, list[tuple[int, float]]]


def roofs(machine: Machine, shown: Sequence[Point]) -> Roofs:
    """The roofs for the dtype and number of threads with most operator time; otherwise f32, all threads."""
    known = sorted({one.threads for one in machine.ceilings if one.kind == "bandwidth"}) or [1]
    threads = int(_heaviest((str(point.threads), point.share) for point in shown) or known[-1])
    threads = threads if threads in known else known[-1]
    dtype = _heaviest((point.dtype, point.share) for point in shown if point.flop_rate is not None) or "f32"
    own = [one for one in machine.ceilings if one.threads == threads]
    product = _one(own, "gemm", dtype)
    peak = _one(own, "isa peak", dtype)
    curves = {mix: _curve(own, mix) for mix in MIXES}
    on_gpu = any(one.device != "cpu" for one in own)
    count = "" if on_gpu else f", {threads} thread{'' if threads == 1 else 's'}"
    return Roofs(
        of=f"{printable(dtype)}{count}",
        product=product.rate.value if product else None,
        product_text=f"best product, {printable(product.what)}" if product else "",
        peak=peak.rate.value if peak else None,
        peak_text=f"peak of {printable(peak.what)}" if peak else "",
        others=_others(own, dtype, shown),
        levels=_levels(machine.levels, curves[_SLOPE]),
        curves={mix: curve for mix, curve in curves.items() if curve},
    )


def _others(own: Sequence[Ceiling], dtype: str, shown: Sequence[Point]) -> tuple[tuple[str, float], ...]:
    wanted = {point.dtype for point in shown if point.flop_rate is not None}
    return tuple(
        (printable(one.dtype), one.rate.value)
        for one in own
        if one.kind == "gemm" and one.dtype != dtype and (not shown or one.dtype in wanted)
    )


def _heaviest(named: Iterable[tuple[str, float]]) -> str:
    """The name with the largest sum of shares; of equal ones the most frequent; "" without any."""
    weights: Counter[str] = Counter()
    for name, share in named:
        weights[name] += 1 + int(share * 1e6)
    return weights.most_common(1)[0][0] if weights else ""


def _one(own: Sequence[Ceiling], kind: str, dtype: str) -> Ceiling | None:
    return next((one for one in own if one.kind == kind and one.dtype == dtype), None)


def _curve(own: Sequence[Ceiling], mix: str) -> list[tuple[int, float]]:
    return sorted(
        (one.footprint_bytes, one.rate.value) for one in own if one.kind == "bandwidth" and one.mix == mix
    )


def _levels(
    levels: Sequence[tuple[str, int]], curve: Sequence[tuple[int, float]]
) -> tuple[tuple[str, float], ...]:
    """The rate of each level: the median over its footprints, without those too small to measure it."""
    found = []
    best = max(curve, key=lambda point: point[1], default=(0, 0.0))[0]
    start = min([best, *(size for _, size in levels[:1])])
    for name, end in levels:
        rates = [rate for size, rate in curve if start <= size <= end and rate > 0]
        if rates:
            found.append((printable(name), float(median(rates))))
        start = end + 1
    return tuple(found)
