"""How long the work of a call takes at most: on one slow core, without the fixed cost of an operator."""

from __future__ import annotations

from perfprobe.models.work import work

# Rates that one core of any processor of the last ten years exceeds, with data in its caches.
_BYTES_PER_NS = 5.0
_FLOPS_PER_NS = 10.0
_ELEMENTS_PER_NS = 0.5  # exponentials, random numbers and the like


def longest_ns(operator: str, signature: str) -> float | None:
    """Returns that time for one call, with all that it calls; None without a model of its work."""
    found = work(operator, signature)
    if found is None:
        return None
    elements = sum(count for _, count in found.elements)
    return found.line_bytes / _BYTES_PER_NS + found.flops / _FLOPS_PER_NS + elements / _ELEMENTS_PER_NS
