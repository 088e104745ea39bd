"""What several processes measured becomes one machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log
from statistics import fmean, median
from typing import Any, TypeAlias

from perfprobe.bench import rules
from perfprobe.bench.ceilings.levels import levels
from perfprobe.tables.machine import Ceiling
from perfprobe.tables.measurements import Estimate

Row: TypeAlias = dict[str, Any]
_KEY = ("kind", "dtype", "threads", "what", "mix", "footprint_bytes")


@dataclass
class Gathered:
    """Rows of all processes so far."""

    device: str
    rates: dict[tuple[Any, ...], list[float]] = field(default_factory=lambda: defaultdict(list))
    contentions: list[float] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    facts: Row = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Take one row of a process."""
        if "kind" in row:
            self.rates[tuple(row[name] for name in _KEY)].append(row["rate"])
            self.contentions += [row["contention"]] if "contention" in row else []
        elif "missing" in row:
            self.missing.setdefault(*row["missing"])
        elif "cases" in row:
            self.facts = row

    def ceilings(self) -> tuple[Ceiling, ...]:
        """Of products the best side only, of each dtype and number of threads; and all others."""
        found = [self._ceiling(key, rates) for key, rates in self.rates.items()]
        products = [one for one in found if one.kind == "gemm"]
        best: dict[tuple[str, int], Ceiling] = {}
        for one in sorted(products, key=lambda one: one.rate.value):
            best[one.dtype, one.threads] = one
        return tuple(one for one in found if one.kind != "gemm" or best[one.dtype, one.threads] is one)

    def _ceiling(self, key: tuple[Any, ...], rates: Sequence[float]) -> Ceiling:
        kind, dtype, threads, what, mix, footprint_bytes = key
        estimate = Estimate(median(rates), min(rates), max(rates))
        return Ceiling(kind, self.device, dtype, threads, estimate, what, mix, footprint_bytes)

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """What no process measured; all that time was too short for in one line."""
        measured = {key[:4] for key in self.rates}
        late = sum(why == "time ran out" for why in self.missing.values())
        others = [(what, why) for what, why in self.missing.items() if why != "time ran out"]
        if late and len(measured):
            others.append((f"{late} ceilings in some of the processes", "time ran out: other programs run here"))
        return tuple(others)

    def noise(self) -> float:
        """How far the processes are apart: the median over all ceilings; 0 for one process."""
        several = [self._ceiling(key, rates).rate for key, rates in self.rates.items() if len(rates) > 1]
        return median(map(rules.spread, several)) if several else 0.0

    def contention(self) -> float:
        """Wall by CPU time: the median over all measurements."""
        return median(self.contentions) if self.contentions else 1.0


def curve(ceilings: Iterable[Ceiling], threads: int) -> list[tuple[int, float]]:
    """Bandwidth by footprint: the geometric mean of all mixes, of which one alone is noisier."""
    by_footprint: dict[int, list[float]] = defaultdict(list)
    for one in ceilings:
        if one.kind == "bandwidth" and one.threads == threads and one.rate.value > 0:
            by_footprint[one.footprint_bytes].append(log(one.rate.value))
    whole = max(map(len, by_footprint.values()), default=0)
    return [(size, exp(fmean(logs))) for size, logs in sorted(by_footprint.items()) if len(logs) == whole]


def levels_of(ceilings: Sequence[Ceiling], device: str) -> tuple[tuple[str, int], ...]:
    """The memory's levels, by what one thread sees of them; of a GPU the L2 cache and its memory."""
    fewest = min((one.threads for one in ceilings if one.kind == "bandwidth"), default=1)
    found = levels(curve(ceilings, fewest))
    if device != "cpu" and len(found) == 2:
        return (("L2", found[0][1]), found[1])
    return found
