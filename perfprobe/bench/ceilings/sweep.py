"""What is measured, as plain data that goes from the parent to the measuring processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

_MIB = 1 << 20


@dataclass(frozen=True)
class Sweep:
    """threads: counts of torch's pool; sides: of square matrices; footprints: bytes; elements: of a tensor.

    first: which group of cases comes first, so that no process leaves out the same ones when time is short.
    seconds: wall time of one process; case_s: CPU time of one case; longest_s: a bigger product is left out
    where it is expected to take more.
    """

    device: str
    threads: tuple[int, ...]
    product_dtypes: tuple[str, ...]
    sides: tuple[int, ...]
    footprints: tuple[int, ...]
    element_dtypes: tuple[str, ...]
    elements: int
    seconds: float
    case_s: float
    longest_s: float = 0.1
    processes: int = 3
    first: int = 0

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Sweep:
        """Back from JSON, where tuples became lists."""
        values: dict[str, Any] = {}
        for one in fields(cls):
            value = plain[one.name]
            values[one.name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


def full(device: str, threads: tuple[int, ...]) -> Sweep:
    """All that a person wants to know, within a minute on two cores."""
    plan = Sweep(
        device,
        threads,
        product_dtypes=("f32", "f64", "bf16", "f16", "i8"),
        sides=(256, 512, 1024, 2048),
        footprints=(*(65536 << step for step in range(13)), 768 * _MIB),
        element_dtypes=("f32", "f64", "bf16"),
        elements=65536,
        seconds=15.0,
        case_s=0.02,
    )
    if device == "cpu":
        return plan
    return replace(
        plan,
        threads=(1,),
        product_dtypes=("f32", "tf32", "f64", "bf16", "f16", "f8", "i8"),
        sides=(1024, 2048, 4096, 8192),
        footprints=tuple(_MIB << step for step in range(13)),
        elements=1 << 22,
    )


def quick(device: str, threads: tuple[int, ...]) -> Sweep:
    """A few of each kind in seconds: to try whether everything works."""
    return replace(
        full(device, threads),
        product_dtypes=("f32",),
        sides=(256,),
        footprints=(_MIB, 16 * _MIB),
        element_dtypes=("f32",),
        seconds=60.0,
        case_s=0.002,
        processes=1,
    )
