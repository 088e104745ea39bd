"""The cost of fresh memory: the price of a page fault, and how to avoid page faults in a process."""

from __future__ import annotations

import ctypes
import mmap
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # malloc.h of glibc
MAPPED_BYTES = 32 << 20  # once settled: larger blocks get fresh pages each time
_SETTLED = ((_M_MMAP_THRESHOLD, MAPPED_BYTES), (_M_TRIM_THRESHOLD, 64 << 20))
_APART = ((_M_MMAP_THRESHOLD, 64 << 10),)
_LARGEST_INT = (1 << 31) - 1
_TOUCHED_BYTES = 8 << 20
_TIMES = 5


def settle() -> bool:
    """Set glibc's moving thresholds to their final values in a program that frees tensors of all sizes.

    Below them it would depend on what was freed before whether a call's outputs are fresh pages: processes
    then differ by five times. False where the allocator is not that of glibc.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return _set(_SETTLED) and trim is not None and trim(0) in (0, 1)


def map_apart() -> None:
    """Until `settle`, map each tensor by itself: freed in the heap, it would leave a hole for later outputs.

    A call measured after others would then have no page faults, although alone it has them.
    """
    _set(_APART)


@contextmanager
def settled() -> Iterator[None]:
    """Amid `map_apart`: outputs of what runs here are not mapped by themselves, which costs page faults."""
    settle()
    try:
        yield
    finally:
        map_apart()


def recycle() -> bool:
    """From now on freed memory stays with the process, whatever its size, and has no page faults again.

    This is permanent: the heap keeps reusing its memory. False where the allocator is not that
    of glibc.
    """
    return _set(((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _LARGEST_INT)))


def _set(options: Sequence[tuple[int, int]]) -> bool:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, value) == 1 for option, value in options)


def fault_ns() -> float | None:
    """CPU time of one page fault, in ns, from untouched memory; None when there are none."""
    prices = [price for _ in range(_TIMES) if (price := _fault_ns()) is not None]
    return median(prices) if prices else None


def _fault_ns() -> float | None:
    with mmap.mmap(-1, _TOUCHED_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
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
