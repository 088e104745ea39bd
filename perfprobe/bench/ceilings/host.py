"""What is measured on the CPU."""

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

_FRESH_BYTES = 64 << 20  # above malloc's limit for reuse: every such tensor is mapped anew
_PEAK_ROUNDS = 200_000  # 1 ms, compared with which synchronising threads is negligible


def groups(torch: Any, sweep: Sweep) -> list[list[Case]]:
    """Products, bandwidths and element rates."""
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
        # Several threads get more work each: waking them must not count as arithmetic.
        count = sweep.elements * (1 if threads == 1 else 4 * threads)
        making += elements(torch, "cpu", sweep.element_dtypes, count, threads)
    return [calculating, moving, making]


def peaks(threads: int) -> Iterator[Case]:
    """The instruction set's own peak, of every kernel that this processor can run."""
    for name, dtype, instruction, missing in _kernels():
        if not missing:
            core = native.core()
            work = 2.0 * core.run_peak(name, 1) * _PEAK_ROUNDS * threads
            make = partial(_on_threads, partial(core.run_peak, name, _PEAK_ROUNDS), threads)
            yield Case("isa peak", dtype, threads, instruction, make, work)


def missing_peaks() -> list[tuple[str, str]]:
    """The kernels that cannot run, with the reason."""
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
    """The call on so many threads at a time, which stay: a thread that ended takes its CPU time along."""
    if threads == 1:
        return run
    return partial(Gang(threads).call, lambda _: run())


def _smallest(torch: Any) -> Call:
    tensor = torch.ones(1)
    return partial(torch.add, tensor, tensor, out=torch.empty(1))


def _fresh(torch: Any) -> Call:
    return lambda: torch.empty(_FRESH_BYTES // 4).fill_(1.0)


def recycled(torch: Any) -> Call:
    """The same without fresh pages."""
    return partial(torch.empty(_FRESH_BYTES // 4).fill_, 1.0)
