"""What fresh memory costs: the price of a page fault, and a process in which there are no more of them."""

from __future__ import annotations

import ctypes
import mmap
import resource
import time
from statistics import median

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # malloc.h of glibc
_LARGEST_INT = (1 << 31) - 1
_OPERAND_BYTES = 64 << 10
# Where glibc's own thresholds end up once a program has freed something of 32 MB, the most that moves them.
_OUTPUT_BYTES, _KEPT_BYTES = 32 << 20, 64 << 20
_TOUCHED_BYTES = 8 << 20
_TIMES = 5


def for_operands() -> None:
    """From now on what is allocated is mapped by itself, so that it leaves no hole in the heap when it is freed.

    Holes would decide which outputs have page faults: by what was measured before.
    """
    _set((_M_MMAP_THRESHOLD, _OPERAND_BYTES))


def for_outputs() -> None:
    """From now on what is smaller than 32 MB lies where it lay before, and what is larger is new each time."""
    _set((_M_MMAP_THRESHOLD, _OUTPUT_BYTES), (_M_TRIM_THRESHOLD, _KEPT_BYTES))
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def recycle() -> bool:
    """From now on freed memory stays with the process, whatever its size, and has no page faults again.

    There is no way back: what the heap has kept would go on to be used. False where the allocator is not that
    of glibc.
    """
    return _set((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _LARGEST_INT))


def _set(*options: tuple[int, int]) -> bool:
    """Whether glibc's allocator is there and took them."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(option, value) == 1 for option, value in options)


def fault_ns() -> float | None:
    """CPU time of one page fault, in ns, from memory that nobody has touched; None when there are none."""
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
