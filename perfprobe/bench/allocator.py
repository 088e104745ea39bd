"""What memory costs: the price of a page fault, and blocks in which freed memory is used again."""

from __future__ import annotations

import ctypes
import mmap
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # malloc.h of glibc
_LARGEST_INT = (1 << 31) - 1
# Where glibc's own thresholds end up once a program has freed something of 32 MB, the most that moves them. From
# the first call of mallopt on they stand still, so a measuring process starts with these.
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _MMAP_MAX = 32 << 20, 64 << 20, 65536
_TOUCHED_BYTES = 8 << 20
_TIMES = 5


def settle() -> bool:
    """Bring glibc's allocator to the state that `recycling` goes back to; False where there is no glibc."""
    return _set(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD) and _go_back()


@contextmanager
def recycling() -> Iterator[None]:
    """In it, freed memory stays with the process whatever its size, so that it has no page faults when used again.

    Where the allocator is not glibc's nothing changes; ask `settle` first.
    """
    _set(_M_MMAP_MAX, 0)
    _set(_M_TRIM_THRESHOLD, _LARGEST_INT)
    try:
        yield
    finally:
        _go_back()
        ctypes.CDLL(None).malloc_trim(0)  # what was kept would still be used again outside


def fault_ns() -> float | None:
    """CPU time of one page fault, in ns, from memory that nobody has touched; None when there are none."""
    prices = [price for _ in range(_TIMES) if (price := _fault_ns()) is not None]
    return median(prices) if prices else None


def _fault_ns() -> float | None:
    with mmap.mmap(-1, _TOUCHED_BYTES) as pages:
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        first_ns, faults = _touch(address)
        again_ns, _ = _touch(address)
    return max(first_ns - again_ns, 0) / faults if faults else None


def _touch(address: int) -> tuple[int, int]:
    """ns and page faults of writing all of it."""
    faults, began_ns = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.thread_time_ns()
    ctypes.memset(address, 1, _TOUCHED_BYTES)
    took_ns = time.thread_time_ns() - began_ns
    return took_ns, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults


def _go_back() -> bool:
    return _set(_M_MMAP_MAX, _MMAP_MAX) and _set(_M_TRIM_THRESHOLD, _TRIM_THRESHOLD)


def _set(option: int, value: int) -> bool:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(option, value) == 1
