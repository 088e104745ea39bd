"""Page faults, counted by the kernel."""

import ctypes
import os
import platform
import resource

import pytest

from perfprobe.bench import allocator
from tests.bench.huge_pages import SMALL_PAGES

SIZE = 64 << 20
GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")


def test_a_page_fault_costs_something() -> None:
    price_ns = allocator.fault_ns()
    assert price_ns is not None
    assert price_ns > 0


def faults_of_a_big_array() -> int:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    array = libc.malloc(ctypes.c_size_t(SIZE))
    ctypes.memset(array, 1, SIZE)
    libc.free(array)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@GLIBC
@SMALL_PAGES
@pytest.mark.parametrize("recycled", [False, True])
def test_recycled_memory_faults_once(recycled: bool) -> None:
    """In a child: it cannot be undone."""
    child = os.fork()
    if not child:
        pages = 0
        try:
            if recycled:
                assert allocator.recycle()
            faults_of_a_big_array()
            pages = min(faults_of_a_big_array(), 20_000) // 1000
        finally:
            os._exit(pages)
    status = os.waitpid(child, 0)[1]
    thousands = os.waitstatus_to_exitcode(status)
    assert (thousands == 0) == recycled
