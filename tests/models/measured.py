"""Measurements made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perfprobe.tables.measurements import Bound, Counterfactual, Estimate, Measurement, Wanted


def near(value: float, spread: float = 0.02) -> Estimate:
    return Estimate(value, value * (1 - spread), value * (1 + spread))


def bound(kind: str, value: float, low: float | None = None, high: float | None = None, **more: Any) -> Bound:
    fraction = near(value) if low is None or high is None else Estimate(value, low, high)
    return Bound(
        kind, fraction, {"gemm": "mm 1024x1024x1024", "element": "exp + div"}.get(kind, "copy_"), **more
    )


def changed(kind: str, change: str, value: float, low: float | None = None, high: float | None = None) -> Any:
    speedup = near(value) if low is None or high is None else Estimate(value, low, high)
    return Counterfactual(kind, change, speedup)


MEASURED = Measurement(
    Wanted("aten::mm", "f32[512,512] f32[512,512]", threads=2),
    "cpu",
    "cpu",
    processes=3,
    rotating=near(1e6),
    warm=near(0.9e6),
    floor=near(1000.0),
    contention=1.0,
    faults=0.0,
    fault_ns=0.0,
    one_fault_ns=500.0,
    other_threads=0.9,
    flops=2 * 512**3,
    dtype="f32",
    bounds=(bound("gemm", 0.93, isa_fraction=0.7), bound("memory", 0.2, level="LLC")),
)


def made(**changes: Any) -> Measurement:
    return replace(MEASURED, **changes)


def with_changes(*changes: Counterfactual, **more: Any) -> Measurement:
    return made(counterfactuals=changes, **more)
