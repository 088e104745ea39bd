"""What native code does, by names in the form that `perf report` prints."""

from __future__ import annotations

import pytest

from perfprobe.models.native_parts import Waiting, part_of, waiting_of
from perfprobe.tables.native_code import NativeMode, NativePart

_TORCH = "/site-packages/torch/lib/libtorch_cpu.so"
_C = "/lib/x86_64-linux-gnu/libc.so.6"

_CASES = {
    (_TORCH, "mkl_blas_avx512_sgemm_kernel_0"): NativePart.MATH,
    (_TORCH, "mkl_blas_def_sgemm_inner"): NativePart.MATH,
    (_TORCH, "dnnl::impl::cpu::x64::jit_uni_reorder_t::execute() const"): NativePart.MATH,
    (_TORCH, "fbgemm::PackAWithIm2Col<>::pack()"): NativePart.MATH,
    (_TORCH, "sgemm_"): NativePart.MATH,
    ("(generated code)", ""): NativePart.MATH,
    ("/usr/lib/libmkl_avx512.so.2", ""): NativePart.MATH,
    ("/lib/libm.so.6", "expf"): NativePart.MATH,
    (_TORCH, "void at::native::AVX512::vectorized_loop<float>(char**, long)"): NativePart.LOOPS,
    (_TORCH, "at::native::DEFAULT::VectorizedLoop2d<>::operator()(char**, long const*)"): NativePart.LOOPS,
    ("/tmp/torchinductor_root/ab/cabcdefghijklm.main.so", "cpp_fused_add_0"): NativePart.OTHER,
    (_TORCH, "at::native::AVX2::direct_copy_kernel(at::TensorIteratorBase&)"): NativePart.COPY,
    (_C, "memcpy"): NativePart.COPY,
    (_C, "__memmove_avx512_unaligned_erms"): NativePart.COPY,
    (_C, "memset"): NativePart.COPY,
    (_C, "malloc"): NativePart.MEMORY,
    (_C, "__default_morecore..malloc"): NativePart.MEMORY,
    (_C, "free..realloc"): NativePart.MEMORY,
    (_C, "timer_settime..__default_morecore"): NativePart.MEMORY,
    (_C, "munmap"): NativePart.MEMORY,
    ("/usr/lib/libstdc++.so.6", "operator new(unsigned long)"): NativePart.MEMORY,
    ("/torch/lib/libc10.so", "c10::alloc_cpu(unsigned long)"): NativePart.MEMORY,
    ("/torch/lib/libgomp.so.1", "GOMP_critical_end..omp_get_level"): NativePart.WAIT,
    ("/torch/lib/libiomp5.so", "__kmp_fork_barrier"): NativePart.WAIT,
    ("/numpy.libs/libscipy_openblas64_.so", "blas_thread_server"): NativePart.WAIT,
    (_TORCH, "at::_ops::add_Tensor::call(at::Tensor const&)"): NativePart.DISPATCH,
    ("/torch/lib/libtorch_python.so", "torch::autograd::THPVariable_add"): NativePart.DISPATCH,
    ("/torch/lib/libc10.so", "c10::TensorImpl::~TensorImpl()"): NativePart.DISPATCH,
    ("/usr/lib/libpython3.11.so.1.0", "_PyEval_EvalFrameDefault"): NativePart.PYTHON,
    ("/usr/bin/python3.12", "PyObject_Malloc"): NativePart.PYTHON,
    ("/x/perfprobe/_observer.cpython-311-x86_64-linux-gnu.so", "on_start"): NativePart.PERFPROBE,
    ("/x/known.so", "plain_loop"): NativePart.OTHER,
    (_C, "qsort"): NativePart.OTHER,
}


@pytest.mark.parametrize(("library", "name"), list(_CASES))
def test_the_part_follows_from_library_and_symbol(library: str, name: str) -> None:
    assert part_of(library, name, NativeMode.PROGRAM) is _CASES[library, name]


def test_time_in_the_kernel_is_page_faults_or_system_calls() -> None:
    faults, calls = NativeMode.INTERRUPTED, NativeMode.SYSTEM_CALL
    assert part_of(_TORCH, "mkl_blas_avx512_sgemm_kernel_0", faults) is NativePart.MEMORY
    assert part_of(_C, "read", calls) is NativePart.SYSTEM
    assert part_of(_C, "madvise", calls) is NativePart.MEMORY
    # Members of a team that call sched_yield or futex wait, whatever interrupts them.
    for mode in NativeMode:
        assert part_of("/torch/lib/libgomp.so.1", "GOMP_barrier", mode) is NativePart.WAIT


def test_waiting_is_imbalance_scheduling_or_locks() -> None:
    """Names as samples of libgomp have them: of a barrier, a dynamic loop and a critical section."""
    assert waiting_of("omp_get_num_procs..omp_get_wtime") is Waiting.IMBALANCE
    assert waiting_of("__kmp_wait_template") is Waiting.IMBALANCE
    assert waiting_of("") is Waiting.IMBALANCE
    assert waiting_of("omp_test_nest_lock..omp_get_num_procs") is Waiting.LOCKS
    assert waiting_of("GOMP_critical_start") is Waiting.LOCKS
    assert waiting_of("__kmp_acquire_queuing_lock") is Waiting.LOCKS
    assert waiting_of("GOMP_loop_dynamic_next") is Waiting.SCHEDULING
    assert waiting_of("__kmp_fork_call") is Waiting.SCHEDULING
