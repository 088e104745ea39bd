"""An expected verdict as data, and the words of verdicts."""

from __future__ import annotations

from dataclasses import dataclass

COMPUTE, MEMORY, ELEMENT = "compute-bound", "memory-bound", "element-rate-bound"
BELOW, INEFFICIENT = "below ceiling", "inefficient"
OVERHEAD, ALLOCATION, UNJUDGED = "overhead-bound", "allocation-bound", "unjudged"
SLOW = (BELOW, INEFFICIENT)  # `ambiguous` between these two counts too: all of its range is below 60 %

SERIAL = ("poorly parallel", "serial kernel", "slower with threads")


@dataclass(frozen=True)
class Expected:
    """A call, and which verdicts are right for it.

    Attributes:
        inputs: in the signature grammar, with the values of floats.
        values: what the tensors hold, in the format of recordings.
        kinds: the verdict must be one of these; empty: any.
        modifiers: the verdict must have one of these.
        never: the verdict must have none of these.
        measured: counterfactuals that must have been measured; without them the verdict proves nothing.
    """

    name: str
    operator: str
    inputs: str
    kinds: tuple[str, ...]
    why: str
    threads: int = 1
    values: str = ""
    modifiers: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()


CONVOLUTION = "padding=(1,1) stride=(1,1) dilation=(1,1)"
NORM = "output_mask=(True,True,True)"
RANDOM_SIGNS = '{"zeros": 0.0, "negatives": 0.5, "denormals": 0.0, "nonfinite": 0.0}'
