"""A call worth looking at, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """name: short, of this family only. operator: with its overload. inputs: as a recording shows them, with
    the values of floats. why: what makes this shape good or bad. values: what the tensors hold, "" for
    nothing in particular.
    """

    name: str
    operator: str
    inputs: str
    why: str
    values: str = ""


# As `signatures.values` has it.
RANDOM_SIGNS = '{"zeros": 0.0, "negatives": 0.5, "denormals": 0.0, "nonfinite": 0.0}'
HALF_ZERO = '{"zeros": 0.5, "negatives": 0.0, "denormals": 0.0, "nonfinite": 0.0}'
