"""Made-up measurements."""

from __future__ import annotations

from typing import Any

from perfprobe.tables.measurements import (
    Bound,
    Counterfactual,
    Estimate,
    Measurement,
    Measurements,
    Seen,
    Verdict,
    Wanted,
)


def around(value: float, part: float = 0.02) -> Estimate:
    return Estimate(value, value * (1 - part), value * (1 + part))


def bernoulli() -> Measurement:
    """At the generator's rate, and one of two threads works."""
    return Measurement(
        Wanted("aten::bernoulli_.float", "f32[128,128,128] p=float", "f32[128,128,128] p=0.9", threads=2),
        "cpu",
        "cpu",
        seen=Seen(calls=8, share=0.16, self_ns=104_000_000, total_ns=104_800_000, cpu_ns=None),
        processes=3,
        rotating=around(12_000_000),
        warm=around(11_900_000),
        contention=1.02,
        bounds=(
            Bound("memory", around(0.03), "fill_ of 8 MiB", "LLC"),
            Bound("element", around(0.97), "rng"),
        ),
        counterfactuals=(Counterfactual("threads", "2→1 threads", around(1 / 1.01)),),
        verdict=Verdict(
            "element-rate-bound", "element-rate-bound at 97 % (rng)", ("serial kernel: 1.01x on 2 threads",)
        ),
    )


def bmm(**changed: Any) -> Measurement:
    """Below its limit."""
    given: dict[str, Any] = {
        "seen": Seen(calls=16, share=0.06, self_ns=40_000_000, total_ns=40_000_000, cpu_ns=39_000_000),
        "processes": 3,
        "rotating": around(2_400_000, 0.1),
        "warm": around(2_000_000),
        "flops": 67_108_864,
        "bounds": (Bound("gemm", around(0.41), "mm 1024", isa_fraction=0.3),),
        "verdict": Verdict("below ceiling", "below ceiling: 41 % of GEMM peak (f32, 2 threads)"),
    }
    inputs = "f32[128,128,16] f32[128,16,128]{2048,1,16}"
    return Measurement(Wanted("aten::bmm", inputs, threads=2), "cpu", "cpu", **{**given, **changed})


def absent() -> Measurement:
    """A call that could not be rebuilt."""
    seen = Seen(calls=3, share=0.05, self_ns=30_000_000, total_ns=30_000_000, cpu_ns=None)
    wanted = Wanted("mine::window", "f32[8,16]", threads=2)
    return Measurement(
        wanted, "cpu", "cpu", seen=seen, not_rebuilt="the library of mine:: is not loaded here"
    )


def measured(*rows: Measurement, **changed: Any) -> Measurements:
    given: dict[str, Any] = {"left_out_share": 0.73, "notes": ("The limits were not measured.",)}
    rows = rows or (bernoulli(), bmm(), absent())
    return Measurements("AMD EPYC", "2.13.0+cpu", "run.perfprobe", rows, **{**given, **changed})
