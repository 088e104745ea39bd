"""Elements a second of what arithmetic of its own limits, not memory: exp, division, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log2
from typing import Any

from perfprobe.bench.ceilings.case import Call, Case, dtype_of
from perfprobe.models.work import ELEMENT_KINDS

_RANDOM: dict[str, Callable[[Any], Call]] = {
    "rng": lambda tensor: tensor.uniform_,
    "bernoulli": lambda tensor: partial(tensor.bernoulli_, 0.5),
    "normal": lambda tensor: tensor.normal_,
}
# Those that work models count, and some that a reader wants to see beside them.
KINDS = (*ELEMENT_KINDS, "sigmoid", "bernoulli", "normal")


def elements(torch: Any, device: str, dtypes: Sequence[str], count: int, threads: int) -> Iterator[Case]:
    """Each kind on a tensor that lies in the L2 cache. "compare": those of a sort, n log2 n;
    "rng": of `uniform_`."""
    for dtype in dtypes:
        for kind in KINDS:
            make = partial(_call, torch, device, kind, dtype, count)
            work = count * log2(count) if kind == "compare" else float(count)
            yield Case("element", dtype, threads, kind, make, work)


def _call(torch: Any, device: str, kind: str, dtype: str, count: int) -> Call:
    tensor = torch.rand(count, device=device).add_(0.5).to(dtype_of(torch, dtype))
    output = torch.empty_like(tensor)
    if kind in _RANDOM:
        return _RANDOM[kind](output)
    if kind == "compare":
        return partial(torch.sort, tensor)
    if kind == "div":
        return partial(torch.div, tensor, tensor.flip(0), out=output)
    if kind == "pow":
        return partial(torch.pow, tensor, 2.5, out=output)
    return partial(getattr(torch, kind), tensor, out=output)
