"""Cases for the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from perfprobe import native
from perfprobe.bench.ceilings.bandwidth import Pool, bandwidths
from perfprobe.bench.ceilings.case import Call, Case
from perfprobe.bench.ceilings.elements import elements
from perfprobe.bench.ceilings.products import products
from perfprobe.bench.ceilings.sweep import Sweep
from perfprobe.bench.gang import Gang
from perfprobe.support.errors import EnvironmentLack

_FRESH_BYTES = 64 << 20  # above malloc's limit for reuse, so that each such tensor is mapped anew
_PEAK_ROUNDS = 200_000  # about 1 ms: synchronizing the threads is negligible beside it


def groups(torch: Any, sweep: Sweep) -> list[list[Case]]:
    """Returns the cases in three groups: products, bandwidths, element rates."""
    pool = Pool(torch, "cpu", max(sweep.footprints))
    calculating: list[Case] = []
    moving = [
        Case("dispatch", "f32", 1, "add out=", partial(_smallest, torch)),
        Case("page fault", "f32", 1, "fill_", partial(_fresh, torch)),
    ]
    making: list[Case] = []
    for threads in sweep.threads:
        calculating += peaks(threads)
        calculating += products(torch, "cpu", sweep.product_dtypes, sweep.sides, threads)
        moving += bandwidths(torch, pool, sweep.footprints, threads)
        # With several threads each gets more work, so that waking them is negligible.
        count = sweep.elements * (1 if threads == 1 else 4 * threads)
        making += elements(torch, "cpu", sweep.element_dtypes, count, threads)
    return [calculating, moving, making]


def peaks(threads: int) -> Iterator[Case]:
    """Yields cases for the peak of each instruction set that this processor has."""
    for name, dtype, instruction, missing in _kernels():
        if not missing:
            core = native.core()
            work = 2.0 * core.run_peak(name, 1) * _PEAK_ROUNDS * threads
            make = partial(_on_threads, partial(core.run_peak, name, _PEAK_ROUNDS), threads)
            yield Case("isa peak", dtype, threads, instruction, make, work)


def missing_peaks() -> list[tuple[str, str]]:
    """Returns the kernels that cannot run here, with the reason."""
    try:
        return [
            (f"isa peak {instruction}", missing)
            for _, _, instruction, missing in native.core().peak_kernels()
            if missing
        ]
    except EnvironmentLack as missing:
        return [("isa peak", f"{missing.what}: {missing.where}")]


def _kernels() -> list[tuple[str, str, str, str]]:
    try:
        return list(native.core().peak_kernels())
    except EnvironmentLack:
        return []


def _on_threads(run: Call, threads: int) -> Call:
    """Returns a call that runs on several threads at once.

    The threads are kept, because the CPU time of a thread that has ended can no longer be read.
    """
    if threads == 1:
        return run
    return partial(Gang(threads).call, lambda _: run())


def _smallest(torch: Any) -> Call:
    tensor = torch.ones(1)
    return partial(torch.add, tensor, tensor, out=torch.empty(1))


def _fresh(torch: Any) -> Call:
    return lambda: torch.empty(_FRESH_BYTES // 4).fill_(1.0)


def recycled(torch: Any) -> Call:
    """Returns a call as `_fresh` that writes the same memory each time, without page faults."""
    return partial(torch.empty(_FRESH_BYTES // 4).fill_, 1.0)
