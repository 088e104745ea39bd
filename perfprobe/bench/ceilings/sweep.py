"""What to measure, as plain data that the parent sends to the measuring processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

_MIB = 1 << 20


@dataclass(frozen=True)
class Sweep:
    """What to measure.

    Attributes:
        threads: sizes of torch's thread pool.
        sides: sizes of square matrices.
        footprints: in bytes.
        elements: the size of tensors for element rates.
        seconds: wall time of one process.
        case_s: CPU time of one case.
        longest_s: a product expected to take longer is left out.
        first: the group of cases to begin with, so that processes that run out of time leave out different
            cases.
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
        """Returns the fields for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Sweep:
        """Makes a sweep from JSON, where tuples have become lists."""
        values: dict[str, Any] = {}
        for one in fields(cls):
            value = plain[one.name]
            values[one.name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


def full(device: str, threads: tuple[int, ...]) -> Sweep:
    """Returns the complete sweep, which takes at most a minute on two cores."""
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
    """Returns a sweep of a few cases of each kind, to try in seconds whether everything works."""
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
