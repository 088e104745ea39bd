"""What cycles per instruction mean, by VTune's limits."""

from __future__ import annotations

from collections.abc import Mapping

# VTune calls a CPI above 1 high; 0.5 and less is what dense kernels reach.
_GOOD_CPI, _HIGH_CPI = 0.5, 1.0
_MISPREDICTED = 0.02  # of branches
_MISSES = 5.0  # of the last level of cache, in 1000 instructions
_STALLED = 0.3  # of the cycles


def reading(cpi: float | None, counts: Mapping[str, int | None]) -> str:
    """Returns whether a CPI is good, fair or high by VTune's limits, and which counts explain it."""
    if cpi is None:
        return ""
    if cpi <= _GOOD_CPI:
        return "good"
    causes = ", ".join(_causes(counts))
    if cpi <= _HIGH_CPI:
        return f"fair: {causes}" if causes else "fair"
    return f"high: {causes or 'slow instructions, such as divisions, or long chains of them'}"


def _causes(counts: Mapping[str, int | None]) -> list[str]:
    """Returns what keeps instructions from completing, as far as the counts show it."""
    found = []
    if _ratio(counts, "cache_misses", "instructions") * 1000 >= _MISSES:
        found.append("it waits for memory")
    if _ratio(counts, "branch_misses", "branches") >= _MISPREDICTED:
        found.append("branches are predicted wrongly")
    if _ratio(counts, "frontend_stalls", "cycles") >= _STALLED:
        found.append("the processor fetches instructions too slowly")
    if not found and _ratio(counts, "backend_stalls", "cycles") >= _STALLED:
        found.append("it waits for data or for units of the processor")
    return found


def _ratio(counts: Mapping[str, int | None], name: str, of: str) -> float:
    """The ratio of two counts; 0 if one was not counted."""
    number, whole = counts[name], counts[of]
    return number / whole if number is not None and whole else 0.0
