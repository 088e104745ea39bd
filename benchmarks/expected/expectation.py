"""What may be said of a call, as data, and the words of verdicts."""

from __future__ import annotations

from dataclasses import dataclass

COMPUTE, MEMORY, ELEMENT = "compute-bound", "memory-bound", "element-rate-bound"
BELOW, INEFFICIENT = "below ceiling", "inefficient"
OVERHEAD, ALLOCATION, UNJUDGED = "overhead-bound", "allocation-bound", "unjudged"
SLOW = (BELOW, INEFFICIENT)  # an `ambiguous` between these two, wholly below 60 %, is as good

SERIAL = ("poorly parallel", "serial kernel", "slower with threads")


@dataclass(frozen=True)
class Expected:
    """A call, and what may be said of it.

    inputs: in the signature grammar, with the values of floats; values: what the tensors hold, as recordings
    have it. kinds: the verdict must be one of these; none: any. modifiers: one of these must be there.
    never: none of these may be there. measured: counterfactuals without which the verdict proves nothing.
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
