"""Finds and avoids denormal results: a processor takes up to a hundred times as long for them.

Normal inputs can have such results, as `exp` of -90. `torch.set_flush_denormal` makes them zero on the thread
that calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from perfprobe.bench.subjects import Arguments

FLUSHED = "denormals flushed to zero"
_DTYPES = ("float32", "float64", "float16", "bfloat16")


def makes_denormals(torch: Any, function: Callable[..., object], arguments: Arguments) -> bool:
    """Whether a call has denormal floats in its results or in what it writes. Restores what it wrote."""
    found = function(*arguments.args, **arguments.kwargs)
    seen = any(_is_denormal(torch, tensor) for tensor in _floats(torch, found))
    if arguments.restore is not None:
        arguments.restore()
    return seen


def flushing(torch: Any, function: Callable[..., object]) -> Callable[..., object]:
    """Returns the function with denormals flushed to zero on the calling thread while it runs."""

    def flushed(*args: Any, **kwargs: Any) -> object:
        torch.set_flush_denormal(True)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_flush_denormal(False)

    return flushed


def _floats(torch: Any, found: object) -> Iterator[Any]:
    if isinstance(found, torch.Tensor):
        dtypes = [getattr(torch, name) for name in _DTYPES]
        if found.dtype in dtypes and found.layout == torch.strided and found.device.type == "cpu":
            yield found
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _floats(torch, each)


def _is_denormal(torch: Any, tensor: Any) -> bool:
    tiny = torch.finfo(tensor.dtype).tiny
    return bool(((tensor != 0) & (tensor.abs() < tiny)).any())
