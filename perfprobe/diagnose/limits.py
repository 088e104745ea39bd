"""When something is large enough to be called a bottleneck."""

from __future__ import annotations

STANDS_OUT = 0.2  # of the steps' own time


def gain(share: float) -> float | None:
    """How much faster steps are without a part of this share; None if nothing else is known to remain.

    Amdahl's law (AFIPS 1967).
    """
    return None if share >= 0.995 else 1 / (1 - share)
