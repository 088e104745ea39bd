"""Compares this machine's products of two dtypes by timing small ones once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from perfprobe.bench.clocks import Clock
from perfprobe.models.dtypes import torch_name

# 34 million operations: 30 ms even if the processor has no instructions for the dtype.
_SIDE = 256
_IMAGE = (1, 32, 30, 30)
_WEIGHT = (32, 32, 3, 3)
_PAIRS = 3
_REFUSALS = (RuntimeError, TypeError, ValueError)


class DtypeProducts:
    """Speed of products of dtypes on one device."""

    def __init__(self, torch: Any, clock: Clock, device: str) -> None:
        self._torch, self._clock, self._device = torch, clock, device
        self._known: dict[tuple[str, str, int, bool], float | None] = {}

    def speedup(self, old: str, new: str, threads: int, convolves: bool) -> float | None:
        """Returns how many times as fast the second dtype's products are; None if torch rejects one.

        Args:
            old, new: names as in signatures, such as `bf16`.
            threads: size of torch's thread pool.
            convolves: whether to time convolutions instead of matrix products.
        """
        key = (old, new, threads, convolves)
        if key not in self._known:
            self._torch.set_num_threads(threads)
            self._known[key] = self._measured(self._product(old, convolves), self._product(new, convolves))
        return self._known[key]

    def _measured(self, old: Callable[[], object], new: Callable[[], object]) -> float | None:
        """Compares the least times of alternating calls: other programs can only add time."""
        try:
            old(), new()
            pairs = [(self._time_ns(old), self._time_ns(new)) for _ in range(_PAIRS)]
        except _REFUSALS:
            return None
        olds, news = zip(*pairs, strict=True)
        return float(min(olds) / max(min(news), 1.0))

    def _time_ns(self, function: Callable[[], object]) -> float:
        self._clock.begin()
        function()
        return self._clock.end(1).time_ns

    def _product(self, dtype: str, convolves: bool) -> Callable[[], object]:
        torch, of = self._torch, {"dtype": getattr(self._torch, torch_name(dtype)), "device": self._device}
        if convolves:
            return partial(torch.nn.functional.conv2d, torch.ones(_IMAGE, **of), torch.ones(_WEIGHT, **of))
        return partial(torch.mm, torch.ones(_SIDE, _SIDE, **of), torch.ones(_SIDE, _SIDE, **of))
