"""What native code does, by the names of its library and its symbol.

torch's libraries contain MKL, oneDNN and FBGEMM with their symbols. A stripped library names only exported
functions: other code is named by the functions before and after it (`a..b`).
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from perfprobe.support.pattern import pattern
from perfprobe.tables.native_code import NativeMode, NativePart


class _Rule(NamedTuple):
    """Matches if both expressions match: the library's file name, and the symbol."""

    part: NativePart
    library: str = ""
    name: str = ""


_MAPPING = r"^(m(un|re)?map|madvise|brk|sbrk|__m(un|re)map)"
_ALLOCATION = (
    r"(^|\.\.)(malloc|free|cfree|calloc|realloc|memalign|posix_memalign|aligned_alloc|valloc|pvalloc|"
    r"mallopt|malloc_\w+|_int_malloc|_int_free|sysmalloc|tcache_\w+|unlink_chunk|__default_morecore|"
    r"__libc_memalign|mi_\w+|je_\w+|tc_\w+)(\.|@|$)"
    r"|^operator (new|delete)|^c10::(alloc_cpu|free_cpu|DefaultCPUAllocator|.*MimallocAllocator)"
    r"|^mkl_serv_(malloc|free|allocate|deallocate)"
)
_COPY = (
    r"^(__)?mem(cpy|move|pcpy|set)(_|$)|^__mem(cpy|move|pcpy|set)_\w+"
    r"|^at::native::.*(copy_kernel|direct_copy|copy_impl|cat_serial|cat_contig|fill_kernel|parallel_cat)"
    r"|^at::vec::\w+::convert<|^void at::vec::\w+::convert<|^c10::.*memcpy"
)
_MATH = (
    r"^_?mkl_|^MKL|^(cblas|lapack)\w*_|^[sdcz](gemm|gemv|dot|axpy|scal|copy)_?\w*$|dnnl|oneapi|fbgemm|xnn_|"
    r"^ukernel|pytorch_(q8|q31|qnnp)|kleidi|^gotoblas|^openblas|^Sleef|^at::native::cpublas::"
)
_LOOPS = (
    r"VectorizedLoop|cpu_kernel|_kernel|\b(AVX2|AVX512|DEFAULT)::|at::internal::parallel_for|TensorIterator.*loop"
    r"|at::native::.*\{lambda.*#\d+\}::operator\(\)|at::native::\w+_(forward|backward|stub|out)\b"
)
# The first rule that matches decides.
_RULES = (
    _Rule(NativePart.PERFPROBE, r"^(_core|_observer|libperfprobe)"),
    _Rule(NativePart.WAIT, r"^lib(gomp|iomp|omp)"),
    _Rule(NativePart.WAIT, "", r"^(__kmp|kmp_|gomp_|GOMP_|blas_thread_server)"),
    _Rule(NativePart.MEMORY, "", _ALLOCATION),
    _Rule(NativePart.MEMORY, "", _MAPPING),
    _Rule(NativePart.COPY, "", _COPY),
    _Rule(NativePart.MATH, "", _MATH),
    _Rule(NativePart.MATH, r"^lib(mkl|openblas|dnnl|blas|lapack|sleef|m[.-])|^\(generated code\)"),
    _Rule(NativePart.LOOPS, r"^libtorch_cpu|inductor|^c[a-z0-9]{10,}\.", _LOOPS),
    _Rule(NativePart.DISPATCH, r"^lib(torch|c10|shm)|^_C\."),
    _Rule(NativePart.DISPATCH, "", r"^(c10|torch|at|pybind11)::"),
    _Rule(NativePart.PYTHON, r"^(lib)?python|^_\w+\.cpython-|^\w+\.cpython-.*lib-dynload"),
)
_COMPILED = [(rule.part, pattern(rule.library), pattern(rule.name)) for rule in _RULES]


_LOCKS = pattern(r"critical|lock|mutex|atomic", re.IGNORECASE)
_SCHEDULING = pattern(
    r"GOMP_(parallel|loop|sections|task|single|teams)|omp_(fork|launch)|__kmp_(fork|dispatch|launch|task)|"
    r"__kmpc_(fork|dispatch|for|omp_task)|_iter_|team_start"
)


class Waiting(IntEnum):
    """What a thread waits for in OpenMP's library, as VTune divides an OpenMP region's potential gain."""

    IMBALANCE = 0  # at a barrier, or between two parallel regions
    SCHEDULING = 1  # while it starts a team, or gets its part of the work
    LOCKS = 2


def waiting_of(name: str) -> Waiting:
    """Returns what a function of OpenMP's library waits for, by its symbol.

    libgomp spins in functions that a stripped copy does not name. For such code (`a..b`), `a` decides whether
    it is a lock; all else is imbalance.
    """
    first = name.partition("..")[0]
    if _LOCKS.search(first):
        return Waiting.LOCKS
    is_named = ".." not in name
    return Waiting.SCHEDULING if is_named and _SCHEDULING.search(first) else Waiting.IMBALANCE


def part_of(library: str, name: str, mode: NativeMode) -> NativePart:
    """Returns what code of this library (a path) and symbol ("" for none) does in this mode.

    A page fault counts as allocation wherever it happens, except in OpenMP's library.
    """
    file = library.rpartition("/")[2]
    part = next(
        (part for part, of, called in _COMPILED if of.search(file) and called.search(name)), NativePart.OTHER
    )
    if mode is NativeMode.PROGRAM or part in (NativePart.WAIT, NativePart.PERFPROBE):
        return part
    if mode is NativeMode.INTERRUPTED or part is NativePart.MEMORY:
        return NativePart.MEMORY
    return NativePart.SYSTEM
