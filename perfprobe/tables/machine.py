"""What this machine can do, as measured: its ceilings."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.measurements import Estimate


@frozen
class Ceiling:
    """One limit. rate: FLOP/s, bytes/s, elements/s, or ns of a call or a page fault: see `kind`.

    kind: "gemm" and "isa peak" (FLOP/s), "bandwidth" (bytes/s), "element" (elements/s), "dispatch" and
    "launch" (ns a call), "page fault" (ns a page). what: the operator or instruction that reached it, of
    "element" the kind of elements. mix: of bandwidth: "read", "write", "copy", "triad" or "in place"; of
    "element" the operator. footprint_bytes: of bandwidth. device: "cpu" or "cuda:0".
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
    """The ceilings of one machine under one torch.

    name: the processor or GPU in words; key: what it was cached by. noise: how far repeated measurements were
    apart, as a part of their median; contention: wall by CPU time while it was measured. measured: ISO date.
    levels: upper footprints of the bandwidth curve's plateaus, (name, bytes), found from the curve itself.
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
