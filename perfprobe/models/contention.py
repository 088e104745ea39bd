"""Whether other programs disturbed a measurement."""

from __future__ import annotations

_CONTENDED = 1.2
_NOISY = 0.15


def is_contended(contention: float) -> bool:
    """Whether wall time is so much more than CPU time that other programs used the machine."""
    return contention > _CONTENDED


def is_noisy(noise: float) -> bool:
    """Whether processes differ by so much that a second digit has no meaning."""
    return noise > _NOISY
