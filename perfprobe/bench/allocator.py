"""Memory of a measuring process: what a page fault costs, and how to control when page faults happen."""

from __future__ import annotations

import ctypes
import mmap
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # malloc.h of glibc
MAPPED_BYTES = 32 << 20  # after `settle`, larger blocks get fresh pages each time
_SETTLED = ((_M_MMAP_THRESHOLD, MAPPED_BYTES), (_M_TRIM_THRESHOLD, 64 << 20))
_APART = ((_M_MMAP_THRESHOLD, 64 << 10),)
_LARGEST_INT = (1 << 31) - 1
_TOUCHED_BYTES = 8 << 20
_TIMES = 5


def settle() -> bool:
    """Sets glibc's adaptive thresholds to the values they reach in a program that frees tensors of all sizes.

    Otherwise, what was freed earlier decides whether a call's outputs get fresh pages, and times of one call
    differ by up to five times between processes. Returns False if the allocator is not glibc's.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return _set(_SETTLED) and trim is not None and trim(0) in (0, 1)


def map_apart() -> None:
    """Maps each tensor separately until `settle` is called.

    A tensor freed in the heap would leave a hole for later outputs. A call measured after others would then
    have no page faults, although it has them when measured alone.
    """
    _set(_APART)


@contextmanager
def settled() -> Iterator[None]:
    """Interrupts `map_apart`: outputs made inside are not mapped separately, which costs page faults."""
    settle()
    try:
        yield
    finally:
        map_apart()


def recycle() -> bool:
    """Keeps all freed memory in the process from now on, so that reusing it causes no page faults.

    This cannot be undone. Returns False if the allocator is not glibc's.
    """
    return _set(((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _LARGEST_INT)))


def _set(options: Sequence[tuple[int, int]]) -> bool:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, value) == 1 for option, value in options)


def fault_ns() -> float | None:
    """Returns the CPU time of one page fault in ns, measured on untouched memory; None if there are none."""
    prices = [price for _ in range(_TIMES) if (price := _fault_ns()) is not None]
    return median(prices) if prices else None


def _fault_ns() -> float | None:
    with mmap.mmap(-1, _TOUCHED_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        first_ns, faults = _touch(address)
        again_ns, _ = _touch(address)
    return max(first_ns - again_ns, 0) / faults if faults else None


def _touch(address: int) -> tuple[int, int]:
    """Writes the whole memory; returns its CPU time in ns and the number of page faults."""
    faults, began_ns = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.thread_time_ns()
    ctypes.memset(address, 1, _TOUCHED_BYTES)
    took_ns = time.thread_time_ns() - began_ns
    return took_ns, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
