"""Measures elements per second of operators that are limited by arithmetic: exp, division, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log2
from typing import Any

import numpy as np

from perfprobe.bench import own_kernels
from perfprobe.bench.ceilings.case import Call, Case, dtype_of
from perfprobe.bench.gang import Gang
from perfprobe.models.work import ELEMENT_KINDS

_RANDOM: dict[str, Callable[[Any], Call]] = {
    "uniform_": lambda tensor: tensor.uniform_,
    "bernoulli_": lambda tensor: partial(tensor.bernoulli_, 0.5),
    "normal_": lambda tensor: tensor.normal_,
}
# The kinds that work models count, each with several operators, of which the fastest sets the ceiling.
# "bernoulli" and "normal" are there for comparison with "rng".
KINDS = {**ELEMENT_KINDS, "bernoulli": ("aten::bernoulli_",), "normal": ("aten::normal_",)}


def elements(torch: Any, device: str, dtypes: Sequence[str], count: int, threads: int) -> Iterator[Case]:
    """Yields a case for each operator of each kind on a tensor in the L2 cache, and for our own kernels.

    The work of "compare" is the number of comparisons of a sort, n log2 n.
    """
    gang = Gang(threads) if device == "cpu" else None
    for dtype in dtypes:
        for kind, operators in KINDS.items():
            own = own_kernels.element_kernels().get((kind, dtype))
            if own is not None and gang is not None:
                make = partial(_own_call, torch, own, dtype, count, gang)
                yield Case("element", dtype, threads, kind, make, float(count), mix="own kernel")
            work = count * log2(count) if kind == "compare" else float(count)
            for operator in operators:
                name = operator.removeprefix("aten::").split(".")[0]
                make = partial(_call, torch, device, name, dtype, count)
                yield Case("element", dtype, threads, kind, make, work, mix=name)


def _own_call(torch: Any, name: str, dtype: str, count: int, gang: Gang) -> Call:
    """Returns the call of our own kernel. Each thread computes one part of the tensor."""
    values = (torch.rand(count) + 0.5).to(dtype_of(torch, dtype)).numpy()
    parts = np.array_split(values, gang.threads), np.array_split(np.empty_like(values), gang.threads)
    kernel = own_kernels.element_call(name)
    return partial(gang.call, lambda part: kernel(parts[0][part], parts[0][part], parts[1][part]))


def _call(torch: Any, device: str, name: str, dtype: str, count: int) -> Call:
    tensor = torch.rand(count, device=device).add_(0.5).to(dtype_of(torch, dtype))
    output = torch.empty_like(tensor)
    if name in _RANDOM:
        return _RANDOM[name](output)
    if name == "sort":
        return partial(torch.sort, tensor)
    if name == "div":
        return partial(torch.div, tensor, tensor.flip(0), out=output)
    if name == "pow":
        return partial(torch.pow, tensor, 2.5, out=output)
    return partial(torch._C._nn.gelu if name == "gelu" else getattr(torch, name), tensor, out=output)
