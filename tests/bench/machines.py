"""Made-up machines."""

from __future__ import annotations

from perfprobe.tables.machine import Ceiling, Machine
from perfprobe.tables.measurements import Estimate

MIB = 1 << 20


def about(value: float) -> Estimate:
    return Estimate(value, value * 0.98, value * 1.03)


def ceiling(kind: str, rate: float, what: str, dtype: str = "f32", threads: int = 1) -> Ceiling:
    return Ceiling(kind, "cpu", dtype, threads, about(rate), what)


def bandwidth(mix: str, footprint_bytes: int, rate: float, threads: int = 1) -> Ceiling:
    return Ceiling("bandwidth", "cpu", "f32", threads, about(rate), mix, mix, footprint_bytes)


def machine(
    name: str = "A processor", *, noise: float = 0.05, contention: float = 1.0, key: str = "key"
) -> Machine:
    """Two threads that do twice as much as one; 90 GB/s up to 4 MiB and 30 GB/s beyond."""
    ceilings = [
        one
        for threads in (1, 2)
        for one in (
            ceiling("gemm", 1e11 * threads, "mm n=1024", threads=threads),
            ceiling("gemm", 5e10 * threads, "mm n=512", "f64", threads),
            ceiling("gemm", 3e9, "mm n=256", "f16", threads),
            ceiling("isa peak", 1.2e11 * threads, "vfmadd231ps zmm", threads=threads),
            *(
                bandwidth(mix, size * MIB, (9e10 if size <= 4 else 3e10) * threads, threads)
                for mix in ("read", "write", "copy", "triad", "in place")
                for size in (1, 2, 4, 16, 64)
            ),
            ceiling("element", 1.2e9 * threads, "exp", threads=threads),
        )
    ]
    return Machine(
        name=name,
        key=key,
        torch="2.13.0",
        measured="2026-01-02T10:15:00+00:00",
        seconds=41.0,
        noise=noise,
        contention=contention,
        ceilings=(*ceilings, ceiling("dispatch", 950.0, "add out="), ceiling("page fault", 600.0, "fill_")),
        levels=(("LLC", 4 * MIB), ("DRAM", 64 * MIB)),
        missing=(("isa peak tdpbf16ps", "the processor has no amx-bf16"),),
    )
