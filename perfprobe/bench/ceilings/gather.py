"""Combines the results of several processes into one machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log
from statistics import fmean, median
from typing import Any, TypeAlias

from perfprobe.bench import rules
from perfprobe.bench.ceilings.case import KEY
from perfprobe.bench.ceilings.levels import levels
from perfprobe.tables.machine import Ceiling
from perfprobe.tables.measurements import Estimate

Row: TypeAlias = dict[str, Any]


def _rivals(one: Ceiling) -> tuple[object, ...]:
    """Returns the key shared by the cases that compete for one ceiling: the best one sets it."""
    if one.kind in ("gemm", "isa peak"):
        return (one.kind, one.dtype, one.threads)
    if one.kind == "element":
        return (one.kind, one.dtype, one.threads, one.what)
    return (one.kind, one.dtype, one.threads, one.what, one.mix, one.footprint_bytes)


@dataclass
class Gathered:
    """The rows of all processes so far."""

    device: str
    rates: dict[tuple[Any, ...], list[float]] = field(default_factory=lambda: defaultdict(list))
    wall_s: float = 0.0
    cpu_s: float = 0.0
    late: set[tuple[Any, ...]] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    facts: Row = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Adds one row of a process."""
        if "kind" in row:
            self.rates[tuple(row[name] for name in KEY)].append(row["rate"])
            self.wall_s += row.get("wall_s", 0.0)
            self.cpu_s += row.get("cpu_s", 0.0)
        elif "missing" in row:
            self.missing.setdefault(*row["missing"])
        elif "late" in row:
            self.late.add(tuple(row["late"][name] for name in KEY))
        elif "cases" in row:
            self.facts = row

    def ceilings(self) -> tuple[Ceiling, ...]:
        """Returns all ceilings; of cases that compete for one ceiling, only the best."""
        found = [self._ceiling(key, rates) for key, rates in self.rates.items()]
        best = {_rivals(one): one for one in sorted(found, key=lambda one: one.rate.value)}
        return tuple(one for one in found if best[_rivals(one)] is one)

    def _ceiling(self, key: tuple[Any, ...], rates: Sequence[float]) -> Ceiling:
        kind, dtype, threads, what, mix, footprint_bytes = key
        estimate = Estimate(float(median(rates)), min(rates), max(rates))
        return Ceiling(kind, self.device, dtype, threads, estimate, what, mix, footprint_bytes)

    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Returns what no process measured, and why. All that was skipped for lack of time is one entry."""
        # For products one side is enough.
        done = {key[:3] for key in self.rates if key[0] == "gemm"}
        late = {key for key in self.late if key not in self.rates and key[:3] not in done}
        found = list(self.missing.items())
        if late:
            kinds = ", ".join(sorted({str(key[0]) for key in late}))
            found.append((f"{len(late)} ceilings ({kinds})", "time ran out: other programs run here"))
        return tuple(found)

    def noise(self) -> float:
        """Returns the spread between processes, the median over all ceilings; 0 for one process."""
        several = [self._ceiling(key, rates).rate for key, rates in self.rates.items() if len(rates) > 1]
        return median(map(rules.spread, several)) if several else 0.0

    def contention(self) -> float:
        """Returns wall time divided by CPU time of the busiest thread, over all measurements."""
        return self.wall_s / self.cpu_s if self.cpu_s else 1.0


def curve(ceilings: Iterable[Ceiling], threads: int) -> list[tuple[int, float]]:
    """Returns bandwidth by footprint, the geometric mean over all mixes: a single mix is noisier."""
    by_footprint: dict[int, list[float]] = defaultdict(list)
    for one in ceilings:
        if one.kind == "bandwidth" and one.threads == threads and one.rate.value > 0:
            by_footprint[one.footprint_bytes].append(log(one.rate.value))
    whole = max(map(len, by_footprint.values()), default=0)
    return [(size, exp(fmean(logs))) for size, logs in sorted(by_footprint.items()) if len(logs) == whole]


def levels_of(ceilings: Sequence[Ceiling], device: str) -> tuple[tuple[str, int], ...]:
    """Returns the levels of the memory as one thread sees them; of a GPU its L2 cache and its memory."""
    fewest = min((one.threads for one in ceilings if one.kind == "bandwidth"), default=1)
    found = levels(curve(ceilings, fewest))
    if device != "cpu" and len(found) == 2:
        return (("L2", found[0][1]), found[1])
    return found
