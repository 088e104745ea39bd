"""Cells about one measured call: its limit, how near the call comes to it, the verdict. Columns of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfprobe.report.rows.measured import limit
from perfprobe.report.section.block import Column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.measurements import Estimate, Measurement

STYLES: Mapping[str, str] = {
    **dict.fromkeys(("compute-bound", "memory-bound", "element-rate-bound"), "green"),
    **dict.fromkeys(("below ceiling", "overhead-bound", "allocation-bound", "not reproduced"), "yellow"),
    "inefficient": "red",
}


def of_limit(measured: Measurement, *, interval: bool = False) -> str:
    """`97 %`, with its interval `97 % (95-99)`."""
    bound = limit(measured)
    if bound is None:
        return units.ABSENT
    low, value, high = (round(part * 100) for part in _parts(bound.fraction))
    return f"{value} % ({low}-{high})" if interval and measured.processes > 1 else f"{value} %"


def verdict_kind(measured: Measurement) -> str:
    """The verdict's word; `not rebuilt` for a call that could not be repeated."""
    if measured.verdict is not None:
        return printable(measured.verdict.kind)
    return units.ABSENT if measured.not_rebuilt is None else "not rebuilt"


def time_range(estimate: Estimate | None) -> str:
    """The lowest and the highest time of all processes, `11.8-12.2 ms`."""
    if estimate is None:
        return units.ABSENT
    low, high = units.duration(estimate.low), units.duration(estimate.high)
    number, _, unit = low.partition(" ")
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def factor(value: float | None) -> str:
    """A ratio of two times: `1.03x`."""
    return units.ABSENT if value is None else f"{units.hundredths(value)}x"


def threads_speedup(measured: Measurement) -> float | None:
    """The speed-up over one thread, measured or possible; None if not measured."""
    for changed in measured.counterfactuals:
        if changed.kind == "threads" and changed.speedup.value > 0:
            return 1 / changed.speedup.value if measured.wanted.threads > 1 else changed.speedup.value
    return None


def in_program_ns(measured: Measurement) -> float | None:
    """The mean total time of a call in the program in ns: CPU time if recorded, otherwise wall time."""
    seen = measured.seen
    if seen is None or seen.calls < 1:
        return None
    return (seen.total_ns if seen.cpu_ns is None else seen.cpu_ns) / seen.calls


def _parts(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.low, estimate.value, estimate.high


def place_of(measured: Measurement) -> str:
    """The hottest line of the program, `/p/train.py:12`; empty if none is known."""
    lines = () if measured.seen is None else measured.seen.lines
    return printable(lines[0]).partition(" in ")[0] if lines else ""


def verdict_text(measured: Measurement) -> str:
    """The sentence and the modifiers, or the reason why it was not judged."""
    verdict = measured.verdict
    if verdict is not None:
        return "; ".join(map(printable, (verdict.text, *verdict.modifiers)))
    return "not judged" if measured.not_rebuilt is None else f"not rebuilt: {printable(measured.not_rebuilt)}"


def efficiency_columns(measured: Sequence[Measurement | None]) -> list[Column]:
    """Share of the limit, and the verdict; no columns if no shown row was measured."""
    if not any(measured):
        return []
    kinds = [units.ABSENT if row is None else verdict_kind(row) for row in measured]
    parts = [units.ABSENT if row is None else of_limit(row) for row in measured]
    return [
        Column("of limit", parts, 3, align="right"),
        Column("verdict", kinds, 3, styles=[STYLES.get(kind, "") for kind in kinds]),
    ]
