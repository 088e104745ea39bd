"""A second implementation of the verdicts, from the text of the rules, and invariants for any measurement."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from perfprobe.models.verdicts import KINDS, judge
from perfprobe.tables.measurements import Bound, Counterfactual, Estimate, Measurement, Seen, Verdict, Wanted
from tests.models.measured import made, near, with_changes


def second(m: Measurement) -> str:  # noqa: C901, PLR0911, PLR0912
    if m.not_rebuilt or not m.rotating:
        return "not rebuilt"
    t = m.rotating
    if m.seen and m.seen.cpu_ns and m.replay is not None:
        there = m.seen.cpu_ns / m.seen.calls
        if there > 2 * m.replay * there and there > 2 * t.value:
            return "not reproduced"
    if m.flops is None:
        return "unjudged"
    pair = [b.fraction for b in m.bounds if b.kind == "overhead"]
    if pair or m.floor:
        part = (
            (pair[0].low, pair[0].high) if pair else (m.floor.low / t.high, m.floor.high / t.low)  # type: ignore[union-attr]
        )
        if round(100 * part[0]) >= 50:
            return "overhead-bound"
        if round(100 * part[1]) >= 50:
            value = pair[0].value if pair else m.floor.value / t.value  # type: ignore[union-attr]
            return "unstable" if (part[1] - part[0]) / value > 0.3 else "ambiguous"
    if m.fault_part is not None:
        if round(100 * m.fault_part.low) >= 30:
            return "allocation-bound"
        if round(100 * m.fault_part.high) >= 30:
            return (
                "unstable"
                if (m.fault_part.high - m.fault_part.low) / m.fault_part.value > 0.3
                else "ambiguous"
            )
    limits = sorted(
        (b for b in m.bounds if b.kind != "overhead"),
        key=lambda b: (-b.fraction.value, ["gemm", "memory", "element"].index(b.kind)),
    )
    if not limits:
        return "unjudged"
    low, high = limits[0].fraction.low, limits[0].fraction.high
    wide = (high - low) / limits[0].fraction.value > 0.3
    low, high = round(100 * low) / 100, round(100 * high) / 100
    if low > 1.15:
        return "model error"
    if high < 0.6:
        return "below ceiling" if high >= 0.3 else "inefficient"
    classes = ["below ceiling" if x < 0.6 else "good" for x in (low, high)]
    if classes[0] != classes[1] or (wide and low >= 0.6 and high > 1.15):
        return "unstable" if wide else "ambiguous"
    return (
        {"gemm": "compute-bound", "memory": "memory-bound", "element": "element-rate-bound"}[limits[0].kind]
        if classes[0] == "good"
        else classes[0]
    )


def estimate(draw: random.Random, scale: float) -> Estimate:
    value = scale * draw.lognormvariate(0, 0.7)
    return Estimate(value, value * draw.uniform(0.7, 1), value * draw.uniform(1, 1.3))


def any_measurement(draw: random.Random) -> Measurement:
    kinds = draw.sample(("gemm", "memory", "element", "overhead"), draw.randrange(5))
    changes = (
        "contiguous",
        "contiguous with copy",
        "threads",
        "padded",
        "dtype",
        "values",
        "recycled output",
        "channels_last",
    )
    rotating = estimate(draw, 1e6)
    return Measurement(
        Wanted("aten::mm", "", threads=draw.choice((1, 2, 8))),
        draw.choice(("cpu", "cuda:0")),
        "cpu",
        not_rebuilt=draw.choice((None,) * 9 + ("why",)),
        processes=3,
        rotating=draw.choice((None,) + (rotating,) * 9),
        floor=draw.choice((None, estimate(draw, 3e5))),
        faults=draw.choice((None, 7.0)),
        fault_part=draw.choice((None, None, estimate(draw, 0.2))),
        seen=draw.choice((None, Seen(3, 0.1, 9, 9, None), Seen(3, 0.1, 9, 9, draw.randrange(1, 10**7)))),
        replay=draw.choice((None, draw.random(), 1.0)),
        other_threads=draw.choice((None, 0.0, draw.random())),
        flops=draw.choice((None, 0, 7, 7, 7, 7)),
        dtype=draw.choice((None, "f32")),
        bounds=tuple(Bound(kind, estimate(draw, 0.4), "copy_") for kind in kinds),
        counterfactuals=tuple(
            Counterfactual(kind, "K 13→16", estimate(draw, 1.2)) for kind in draw.choices(changes, k=4)
        ),
        nested=draw.choice(((), (("aten::copy_", draw.random()),))),
    )


@cache
def measurements() -> list[Measurement]:
    """Not made on import, which each process of a run does."""
    return [any_measurement(random.Random(seed)) for seed in range(4000)]


def test_the_second_judge_agrees() -> None:
    for measurement in measurements():
        assert judge(measurement).kind == second(measurement), measurement
    assert {second(measurement) for measurement in measurements()} == set(KINDS)


def test_a_verdict_is_one_kind_and_its_text_begins_with_it() -> None:
    for verdict in map(judge, measurements()):
        assert verdict.kind in KINDS
        assert verdict.text.startswith(verdict.kind)
        assert "{" not in "".join((verdict.text, *verdict.modifiers))


NEEDS: dict[str, tuple[tuple[str, ...], Callable[[Estimate], bool]]] = {
    "layout-bound": (("contiguous", "channels_last"), lambda e: e.low > 1.15),
    "one thread": (("threads",), lambda e: e.low > 1.15),
    "shape-bound": (("padded",), lambda e: e.low > 1.15),
    "dtype-bound": (("dtype",), lambda e: e.low > 1.15),
    "fresh memory": (("recycled output",), lambda e: e.low > 1.15),
    "slower with threads": (("threads",), lambda e: e.low > 1.15),
    "poorly parallel": (("threads",), lambda e: 1 / e.low < 4.8),
    "serial kernel": (("threads",), lambda e: 1 / e.low < 1.15),
    "value-sensitive": (("values",), lambda e: e.low > 1.15 or e.high < 1 / 1.15),
}


def test_a_modifier_needs_a_clear_change() -> None:
    seen = set()
    for measurement in measurements():
        for modifier in judge(measurement).modifiers:
            word = modifier.partition(":")[0]
            seen.add(word)
            if word == "nested copy_":
                assert measurement.nested[0][1] > 0.13
                continue
            kinds, is_clear = NEEDS[word]
            assert any(
                is_clear(found.speedup) for found in measurement.counterfactuals if found.kind in kinds
            ), modifier
    assert seen == {*NEEDS, "nested copy_"}


def test_an_unclear_change_gives_no_modifier() -> None:
    across = Estimate(1.2, 1.1, 1.3)
    for kind, word in (
        ("contiguous", "layout"),
        ("channels_last", "layout"),
        ("padded", "shape"),
        ("dtype", "dtype"),
        ("values", "value"),
    ):
        verdict = judge(with_changes(Counterfactual(kind, "x", across)))
        assert not any(modifier.startswith(word) for modifier in verdict.modifiers)


ORDER = ["inefficient", "below ceiling", "memory-bound", "model error"]


def test_a_call_nearer_to_the_limit_never_has_a_worse_verdict() -> None:
    draw = random.Random(3)
    for _ in range(200):
        spread = draw.uniform(0, 0.25)
        fractions = sorted(draw.lognormvariate(-0.8, 0.8) for _ in range(30))
        verdicts = [
            judge(made(bounds=(Bound("memory", near(fraction, spread), "copy_"),))) for fraction in fractions
        ]
        ranks = [ORDER.index(verdict.kind) for verdict in verdicts if verdict.kind in ORDER]
        assert ranks == sorted(ranks)


def test_a_narrower_interval_decides_at_least_as_much() -> None:
    for measurement in measurements():
        judged: Verdict = judge(measurement)
        if judged.kind not in ORDER[:2] or not measurement.bounds:
            continue
        narrow = tuple(
            replace(
                bound, fraction=Estimate(bound.fraction.value, bound.fraction.value, bound.fraction.value)
            )
            for bound in measurement.bounds
        )
        at_most = ORDER[: ORDER.index(judged.kind) + 1]
        assert judge(replace(measurement, bounds=narrow)).kind in at_most
