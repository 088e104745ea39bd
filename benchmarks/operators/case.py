"""A call of the suite, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A call.

    Attributes:
        name: short, unique in its family.
        operator: with its overload.
        inputs: as a recording shows them, with the values of floats.
        why: what makes this shape good or bad.
        values: what the tensors hold; "" for no particular values.
    """

    name: str
    operator: str
    inputs: str
    why: str
    values: str = ""


# In the format of `signatures.values`.
RANDOM_SIGNS = '{"zeros": 0.0, "negatives": 0.5, "denormals": 0.0, "nonfinite": 0.0}'
HALF_ZERO = '{"zeros": 0.5, "negatives": 0.0, "denormals": 0.0, "nonfinite": 0.0}'
