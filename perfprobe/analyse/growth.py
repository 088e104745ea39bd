"""Which of many rows grow from step to step, and at which steps that is looked at."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask, Rows

FEWEST_STEPS = 3
_MOST_SAMPLES = 32  # steps; all pairs of them are compared
_PARTS = 4  # a leak grows in each part of the run, a cache that is filled once only in one part


def sampled(steps: Rows) -> Rows:
    """Returns at most 32 of these steps, evenly spaced; none if there are fewer than three."""
    if len(steps) < FEWEST_STEPS:
        return steps[:0]
    return steps[np.linspace(0, len(steps) - 1, min(len(steps), _MOST_SAMPLES)).astype(np.intp)]


def is_growing(held_bytes: Int64) -> Mask:
    """Whether each row grows in every quarter of the steps. held_bytes: a column for each step."""
    steps = held_bytes.shape[1]
    bounds = np.linspace(0, steps - 1, min(_PARTS, steps - 1) + 1).astype(np.intp)
    return np.asarray((np.diff(held_bytes[:, bounds], axis=1) > 0).all(axis=1))
