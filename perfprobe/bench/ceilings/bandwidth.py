"""Measures bytes per second by footprint and by the mix of reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from perfprobe.bench.ceilings.case import Call, Case

_BYTES = 4  # of f32
# Number of tensors touched, number of tensors' bytes moved, and the operator.
_MIXES = {
    "read": (1, 1, "sum"),
    "write": (1, 1, "fill_"),
    "copy": (2, 2, "copy_"),
    "triad": (3, 3, "add out="),
    "in place": (1, 2, "mul_"),
}
MIXES = tuple(_MIXES)


class Pool:
    """Memory that all footprints share. It is touched once, so that no page is fresh."""

    def __init__(self, torch: Any, device: str, largest_bytes: int) -> None:
        self._torch, self._device, self._largest_bytes = torch, device, largest_bytes
        self._memory: Any = None

    def tensors(self, count: int, each_bytes: int) -> Any:
        """Adjacent f32 tensors of ones, each aligned to a line of 64 bytes."""
        if self._memory is None:
            self._memory = self._torch.ones(self._largest_bytes // _BYTES, device=self._device)
        elements = each_bytes // _BYTES // 16 * 16
        return [self._memory[at * elements : (at + 1) * elements] for at in range(count)]


def bandwidths(torch: Any, pool: Pool, footprints: Sequence[int], threads: int) -> Iterator[Case]:
    """Yields a case for each mix on each footprint."""
    for footprint_bytes in footprints:
        for mix, (tensors, moved, what) in _MIXES.items():
            each_bytes = footprint_bytes // tensors // 64 * 64
            make = partial(_mover, torch, pool, mix, each_bytes)
            work = float(moved * each_bytes)
            yield Case("bandwidth", "f32", threads, what, make, work, mix, footprint_bytes)


def _mover(torch: Any, pool: Pool, mix: str, each_bytes: int) -> Call:
    first, *others = pool.tensors(_MIXES[mix][0], each_bytes)
    calls: dict[str, Call] = {
        "read": partial(torch.sum, first),
        "write": partial(first.fill_, 1.0),
        "copy": lambda: first.copy_(others[0]),
        "triad": lambda: torch.add(others[0], others[1], alpha=0.5, out=first),
        "in place": partial(first.mul_, 1.0),
    }
    return calls[mix]
