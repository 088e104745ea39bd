"""Verdicts by hand for measurements made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perfprobe.models.modifiers import PURE_COPY
from perfprobe.models.verdicts import KINDS, MEANING, TORCHS, judge
from perfprobe.tables.measurements import Estimate, Measurement, Seen, Wanted
from tests.models.measured import MEASURED, bound, changed, made, near, with_changes


def memory(
    value: float, low: float | None = None, high: float | None = None, level: str | None = "LLC"
) -> Any:
    return made(bounds=(bound("memory", value, low, high, level=level),))


BY_HAND: dict[str, tuple[Measurement, str, str]] = {
    "no recipe": (made(not_rebuilt="takes a Generator"), "not rebuilt", "not rebuilt: takes a Generator"),
    "nothing at all": (
        Measurement(MEASURED.wanted, "cpu", "cpu"),
        "not rebuilt",
        "not rebuilt: not measured",
    ),
    "times apart, fractions not": (
        made(rotating=Estimate(1e6, 0.6e6, 1.9e6), processes=5),
        "compute-bound",
        "compute-bound at 93 % (91–95) of GEMM peak (f32, 2 threads; 70 % of ISA peak)",
    ),
    "fractions apart": (
        made(bounds=(bound("memory", 0.5, 0.42, 0.63, level="LLC"),), processes=5),
        "unstable",
        "unstable: 50 % (42–63) of LLC bandwidth over 5 processes",
    ),
    "fractions apart, in one class": (
        memory(0.8, 0.65, 1.1),
        "memory-bound",
        "memory-bound at 80 % (65–110) of LLC bandwidth",
    ),
    "fractions apart, of little": (
        memory(0.1, 0.05, 0.2),
        "inefficient",
        "inefficient: 10 % (5–20) of LLC bandwidth",
    ),
    "fractions apart, some too fast": (
        memory(0.9, 0.7, 1.5),
        "unstable",
        "unstable: 90 % (70–150) of LLC bandwidth over 3 processes",
    ),
    "floors apart": (
        made(bounds=(*MEASURED.bounds, bound("overhead", 0.5, 0.4, 0.6))),
        "unstable",
        "unstable: floor is 50 % (40–60) of time over 3 processes",
    ),
    "one process": (
        made(processes=1),
        "compute-bound",
        "compute-bound at 93 % of GEMM peak (f32, 2 threads; 70 % of ISA peak)",
    ),
    "another call in the program": (
        made(seen=Seen(2, 0.5, 9, 9, cpu_ns=90_000_000), replay=1.4e6 / 45e6),
        "not reproduced",
        "not reproduced: 45.0 ms of CPU time in the program, 1.40 ms by itself",
    ),
    "short in the program too": (
        made(seen=Seen(2, 0.5, 9, 9, cpu_ns=3_900_000), replay=0.3),
        "compute-bound",
        "",
    ),
    "only wall time in the program": (
        made(seen=Seen(2, 0.5, 9, 90_000_000, cpu_ns=None)),
        "compute-bound",
        "",
    ),
    "no model": (made(flops=None, bounds=()), "unjudged", "unjudged: no work model"),
    "no model, small": (made(flops=None, bounds=(), floor=near(1e6)), "unjudged", "unjudged: no work model"),
    "nothing to limit it": (made(bounds=()), "unjudged", "unjudged: no limit was measured beside it"),
    "small": (made(floor=near(0.97e6)), "overhead-bound", "overhead-bound: floor is 97 % (93–101) of time"),
    "small, the pair decides": (
        made(bounds=(*MEASURED.bounds, bound("overhead", 0.75))),
        "overhead-bound",
        "overhead-bound: floor is 75 % (74–76) of time",
    ),
    "half of it, perhaps": (
        made(floor=Estimate(5e5, 4.8e5, 5.2e5)),
        "ambiguous",
        "ambiguous: floor is 50 % (47–53) of time",
    ),
    "a floor above it": (
        made(floor=near(1.04e6)),
        "overhead-bound",
        "overhead-bound: floor is 104 % (100–108) of time",
    ),
    "faults": (
        made(faults=16001.0, fault_part=near(0.71)),
        "allocation-bound",
        "allocation-bound: 16001 page faults per call, 71 % (70–72) of time",
    ),
    "faults, perhaps": (
        made(faults=400.0, fault_part=near(0.3)),
        "ambiguous",
        "ambiguous: 400 page faults per call, 30 % (29–31) of time",
    ),
    "few faults": (made(faults=4.0, fault_part=near(0.004)), "compute-bound", ""),
    "too fast": (memory(1.42, 1.38, 1.52), "model error", "model error: 142 % (138–152) of LLC bandwidth"),
    "fast": (memory(1.2, 1.1, 1.39), "memory-bound", "memory-bound at 120 % (110–139) of LLC bandwidth"),
    "memory": (memory(0.93, 0.9, 0.95), "memory-bound", "memory-bound at 93 % (90–95) of LLC bandwidth"),
    "memory, levels not known": (
        memory(0.93, 0.9, 0.95, None),
        "memory-bound",
        "memory-bound at 93 % (90–95) of memory bandwidth",
    ),
    "just good": (memory(0.61, 0.6, 0.63), "memory-bound", "memory-bound at 61 % (60–63) of LLC bandwidth"),
    "good, perhaps": (memory(0.61, 0.59, 0.63), "ambiguous", "ambiguous: 61 % (59–63) of LLC bandwidth"),
    "between": (memory(0.45, 0.4, 0.5), "below ceiling", "below ceiling: 45 % (40–50) of LLC bandwidth"),
    "bad, perhaps": (
        memory(0.31, 0.29, 0.33),
        "below ceiling",
        "below ceiling: 31 % (29–33) of LLC bandwidth",
    ),
    "bad, perhaps, and wide": (
        memory(0.29, 0.22, 0.32),
        "below ceiling",
        "below ceiling: 29 % (22–32) of LLC bandwidth",
    ),
    "bad": (memory(0.06, 0.05, 0.07), "inefficient", "inefficient: 6 % (5–7) of LLC bandwidth"),
    "shown as the edge, and in the class it begins": (
        memory(0.63, 0.596, 0.66),
        "memory-bound",
        "memory-bound at 63 % (60–66) of LLC bandwidth",
    ),
    "shown as another edge": (
        memory(0.31, 0.296, 0.33),
        "below ceiling",
        "below ceiling: 31 % (30–33) of LLC bandwidth",
    ),
    "good or bad": (memory(0.6, 0.55, 0.7), "ambiguous", "ambiguous: 60 % (55–70) of LLC bandwidth"),
    "elements": (
        made(bounds=(bound("memory", 0.2), bound("element", 0.87))),
        "element-rate-bound",
        "element-rate-bound at 87 % (85–89) (exp + div)",
    ),
    "elements of torch's own kernel": (
        made(bounds=(replace(bound("element", 0.97), reference=f"{TORCHS} (sin)"),)),
        "unjudged",
        "unjudged: no independent limit known; 97 % (95–99) of torch's own kernel (sin)",
    ),
    "elements of torch's own kernel beside another limit": (
        made(
            bounds=(bound("memory", 0.7), replace(bound("element", 0.97), reference=f"{TORCHS} (sin)")),
        ),
        "memory-bound",
        "memory-bound at 70 % (69–71) of memory bandwidth",
    ),
    "slow elements of torch's own kernel": (
        made(bounds=(replace(bound("element", 0.2), reference=f"{TORCHS} (uniform_)"),)),
        "inefficient",
        "inefficient: 20 % (20–20) of torch's own kernel (uniform_)",
    ),
    "a gather": (
        made(bounds=(replace(bound("gather", 0.9), reference="a gather of random lines"),)),
        "memory-bound",
        "memory-bound at 90 % (88–92) of a gather of random lines",
    ),
    "a slow gather": (
        made(bounds=(replace(bound("gather", 0.2), reference="a gather of sequential lines"),)),
        "inefficient",
        "inefficient: 20 % (20–20) of a gather of sequential lines",
    ),
    "slow elements": (
        made(bounds=(bound("element", 0.46),)),
        "below ceiling",
        "below ceiling: 46 % (45–47) of exp + div rate",
    ),
    "memory before a product": (
        made(bounds=(bound("gemm", 0.3), bound("memory", 0.67, level="LLC"))),
        "memory-bound",
        "memory-bound at 67 % (66–68) of LLC bandwidth",
    ),
    "a product before memory": (
        made(bounds=(bound("memory", 0.73), bound("gemm", 0.73))),
        "compute-bound",
        "compute-bound at 73 % (72–74) of GEMM peak (f32, 2 threads)",
    ),
    "on a GPU": (
        made(device="cuda:0", clock="gpu", bounds=(bound("gemm", 0.8),), dtype="bf16"),
        "compute-bound",
        "compute-bound at 80 % (78–82) of GEMM peak (bf16, cuda:0)",
    ),
    "one thread": (
        made(wanted=Wanted("aten::mm", ""), bounds=(bound("gemm", 0.8),)),
        "compute-bound",
        "compute-bound at 80 % (78–82) of GEMM peak (f32, 1 thread)",
    ),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_verdicts_by_hand(case: str) -> None:
    measurement, kind, text = BY_HAND[case]
    verdict = judge(measurement)
    assert verdict.kind == kind
    assert verdict.text == (text or verdict.text)
    assert verdict.modifiers == ()


def copied(operator: str, signature: str, fraction: float = 0.95, **more: Any) -> Measurement:
    return made(wanted=Wanted(operator, signature), bounds=(bound("memory", fraction),), **more)


MODIFIERS: dict[str, tuple[Measurement, tuple[str, ...]]] = {
    "threads help": (with_changes(changed("threads", "2→1 threads", 1 / 1.9)), ()),
    "threads help little": (
        with_changes(changed("threads", "2→1 threads", 0.82, 0.8, 0.85)),
        ("poorly parallel: 1.22x on 2 threads",),
    ),
    "threads help, perhaps": (with_changes(changed("threads", "2→1 threads", 0.8, 0.75, 0.85)), ()),
    "serial": (
        with_changes(changed("threads", "2→1 threads", 0.97), other_threads=0.001),
        ("poorly parallel: 1.03x on 2 threads", "serial kernel"),
    ),
    "others are not idle": (
        with_changes(changed("threads", "2→1 threads", 0.97), other_threads=0.4),
        ("poorly parallel: 1.03x on 2 threads",),
    ),
    "threads harm": (
        with_changes(changed("threads", "2→1 threads", 1 / 0.48)),
        ("slower with threads: 0.48x on 2",),
    ),
    "small calls have nothing to share": (
        with_changes(changed("threads", "2→1 threads", 1.0), floor=near(0.97e6)),
        (),
    ),
    "eight threads": (
        with_changes(changed("threads", "8→1 threads", 0.25), wanted=Wanted("aten::mm", "", threads=8)),
        ("poorly parallel: 4.0x on 8 threads",),
    ),
    "eight threads, well": (
        with_changes(changed("threads", "8→1 threads", 0.2), wanted=Wanted("aten::mm", "", threads=8)),
        (),
    ),
    "layout": (
        with_changes(
            changed("contiguous", "contiguous operand 2", 18.0, 13.0, 23.0),
            changed("contiguous with copy", "contiguous operand 2", 5.0, 4.0, 6.0),
        ),
        ("layout-bound: contiguous operand 13–23x faster, 4.0–6.0x incl. the copy",),
    ),
    "layout, perhaps": (with_changes(changed("contiguous", "contiguous operand 2", 1.3, 1.1, 1.5)), ()),
    "padding gains": (
        with_changes(changed("padded", "K 13→16", 1.22, 1.18, 1.26), changed("padded", "N 13→16", 1.0)),
        ("shape-bound: padding K 13→16 gives 1.22x",),
    ),
    "padding loses": (with_changes(changed("padded", "K 13→16", 0.74)), ()),
    "values": (
        with_changes(changed("values", "half zeros", 0.3), changed("values", "all positive", 5.0)),
        ("value-sensitive: 0.30–5.0x over values",),
    ),
    "values do nothing": (with_changes(changed("values", "half zeros", 0.97)), ()),
    "channels last": (
        with_changes(changed("channels_last", "channels_last", 1.6)),
        ("layout-bound: channels_last would be 1.60x",),
    ),
    "one thread of two": (
        with_changes(changed("threads", "1→2 threads", 1.9), wanted=Wanted("aten::mm", "", threads=1)),
        ("one thread: 1→2 threads would be 1.90x",),
    ),
    "one thread is enough": (
        with_changes(changed("threads", "1→2 threads", 1.1), wanted=Wanted("aten::mm", "", threads=1)),
        (),
    ),
    "dtype": (with_changes(changed("dtype", "f32→bf16", 6.1)), ("dtype-bound: f32→bf16 would be 6.1x",)),
    "recycled": (
        with_changes(changed("recycled output", "recycled output", 2.3)),
        ("fresh memory: recycled output gives 2.3x",),
    ),
    "results that are denormal": (
        with_changes(changed("flushed", "denormals flushed to zero", 31.0)),
        ("denormal results: denormals flushed to zero (torch.set_flush_denormal) would be 31x",),
    ),
    "another form": (
        with_changes(changed("equivalent", "x.amax(dim) (if the indices are not used)", 9.8)),
        ("faster form: x.amax(dim) (if the indices are not used) would be 9.8x",),
    ),
    "another form that is no faster": (with_changes(changed("equivalent", "x.amax(dim)", 1.05)), ()),
    "a copy inside": (
        made(wanted=Wanted("aten::relu.out", ""), nested=(("aten::copy_", 0.42), ("aten::clamp_min", 0.4))),
        ("nested copy_: 42 % of time",),
    ),
    "a copy that is the work": (made(wanted=Wanted("aten::clone", ""), nested=(("aten::copy_", 0.9),)), ()),
    "a copy at full bandwidth": (copied("aten::copy_", "f32[512,512] f32[512,512]"), (PURE_COPY,)),
    "a clone": (copied("aten::clone", "f32[512,512]"), (PURE_COPY,)),
    "a clone into fresh memory": (
        copied("aten::clone", "f32[512,512]", faults=256.0, fault_part=near(0.6)),
        (PURE_COPY,),
    ),
    "a slow copy": (copied("aten::copy_", "f32[512,512] f32[512,512]{1,512}", 0.26), ()),
    "a copy to another dtype": (copied("aten::copy_", "bf16[512,512] f32[512,512]"), ()),
    "no copy": (copied("aten::relu", "f32[512,512]"), ()),
    "an allocator that keeps memory": (
        made(faults=4672.4, seen=Seen(10, 0.5, 9, 9, None, faults=0)),
        ("page faults: 0 a call in the program, 4,672 by itself; memory is used again there",),
    ),
    "an allocator that keeps none": (
        made(seen=Seen(10, 0.5, 9, 9, None, faults=46_720)),
        ("page faults: 4,672 a call in the program, 0 by itself; memory is fresh there",),
    ),
    "faults in both": (made(faults=300.0, seen=Seen(10, 0.5, 9, 9, None, faults=2000)), ()),
    "faults of a price that is not known": (
        made(one_fault_ns=None, seen=Seen(10, 0.5, 9, 9, None, faults=46_720)),
        (),
    ),
    "few faults in both": (made(seen=Seen(10, 0.5, 9, 9, None, faults=600)), ()),
    "a small copy inside": (made(nested=(("aten::copy_", 0.1),)), ()),
    "not rebuilt": (with_changes(changed("dtype", "f32→bf16", 6.1), not_rebuilt="why"), ()),
    "unstable": (
        with_changes(changed("dtype", "f32→bf16", 6.1), bounds=(bound("memory", 0.5, 0.4, 0.7),)),
        (),
    ),
    "unjudged": (
        with_changes(changed("dtype", "f32→bf16", 6.1), flops=None),
        ("dtype-bound: f32→bf16 would be 6.1x",),
    ),
}


@pytest.mark.parametrize("case", MODIFIERS)
def test_modifiers_by_hand(case: str) -> None:
    measurement, expected = MODIFIERS[case]
    assert judge(measurement).modifiers == expected


def test_every_kind_has_a_meaning_and_a_case() -> None:
    assert set(KINDS) == set(MEANING) == {kind for _, kind, _ in BY_HAND.values()}
