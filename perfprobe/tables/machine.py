"""The ceilings of a machine, as measured."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.measurements import Estimate


@frozen
class Ceiling:
    """One limit.

    Attributes:
        kind: "gemm" and "isa peak" (FLOP/s), "bandwidth" (bytes/s), "element" (elements/s), "dispatch" and
            "launch" (ns a call), "page fault" (ns a page).
        device: "cpu" or "cuda:0".
        rate: in the unit of the kind.
        what: the operator or instruction that reached it; for "element" the kind of elements.
        mix: for bandwidth "read", "write", "copy", "triad" or "in place"; for "element" the operator.
        footprint_bytes: of bandwidth.
    """

    kind: str
    device: str
    dtype: str
    threads: int
    rate: Estimate
    what: str
    mix: str = ""
    footprint_bytes: int = 0


@frozen
class Machine:
    """The ceilings of one machine with one torch.

    Attributes:
        name: the processor or GPU in words.
        key: the key in the cache.
        measured: ISO date.
        noise: difference between repeated measurements, as a part of their median.
        contention: wall time divided by CPU time while measuring.
        levels: (name, bytes): the upper footprints of the plateaus of the bandwidth curve.
        missing: what was not measured, with the reason.
    """

    name: str
    key: str
    torch: str
    measured: str
    seconds: float
    noise: float
    contention: float
    ceilings: tuple[Ceiling, ...]
    levels: tuple[tuple[str, int], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
