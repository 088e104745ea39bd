"""Page faults, counted by the kernel."""

import ctypes
import os
import platform
import resource
import subprocess
import sys

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


def faults_after_operands_were_freed(apart: bool) -> int:
    """Page faults of a large array after two smaller ones, with other data above them, were freed."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    allocator.settle()
    if apart:
        allocator.map_apart()
    operands = [libc.malloc(ctypes.c_size_t(SIZE * 3 // 8)) for _ in range(3)]
    assert all(libc.malloc(ctypes.c_size_t(60 << 10)) for _ in range(64))
    for operand in operands:
        libc.free(operand)
    allocator.settle()
    faults_of_a_big_array()
    return faults_of_a_big_array()


@GLIBC
@SMALL_PAGES
@pytest.mark.parametrize("apart", [False, True])
def test_separately_mapped_operands_leave_no_hole_for_outputs(apart: bool) -> None:
    code = "import sys; from tests.bench.test_allocator import faults_after_operands_were_freed as faults; "
    code += f"sys.exit(faults({apart}) // 1000)"
    thousands = subprocess.run([sys.executable, "-c", code], check=False).returncode
    assert thousands == (SIZE // 4096 // 1000 if apart else 0)


@GLIBC
@SMALL_PAGES
@pytest.mark.parametrize("recycled", [False, True])
def test_recycled_memory_faults_once(recycled: bool) -> None:
    """In a child process, because the setting cannot be undone."""
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
