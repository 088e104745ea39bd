"""Verdicts report deliberately inserted defects, through the real harness.

Numbers come from `python -m benchmarks.defects`. These tests only check classes, for effects with a large
margin.
"""

from dataclasses import replace
from typing import TypeAlias

import pytest

from benchmarks import harness
from benchmarks.defects import CLONES, FRESH, ONE_THREAD, RECYCLED, TRANSPOSED, call, replaced
from perfprobe.bench.measure import BenchSettings
from perfprobe.tables.measurements import Measurement

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.alone

SETTINGS = BenchSettings(processes=1, most_processes=1, seconds=0.1)
SMALL = "f32[1024,1024] f32[1024,1024]"


Measured: TypeAlias = "tuple[Measurement, ...]"


def modifiers(found: Measurement) -> str:
    assert found.verdict is not None
    return " · ".join(found.verdict.modifiers)


def part_of_the_limit(found: Measurement) -> float:
    limit = harness.nearest(found)
    assert limit is not None
    return limit.fraction.value


@pytest.fixture(scope="module")
def sound() -> Measured:
    calls = [
        call("aten::mul.Tensor", SMALL),
        call("aten::div.Tensor", TRANSPOSED),
        call("aten::clone", FRESH),
        call("aten::copy_", RECYCLED),
        call("aten::bmm", "f64[256,13,13] f64[256,13,13]"),
    ]
    return harness.all_measured([(one, None) for one in calls], SETTINGS)


def test_extra_clones_lower_the_fraction_of_the_limit(sound: Measured) -> None:
    with replaced(CLONES.format(count=6)):
        defective = harness.all_measured([(call("aten::mul.Tensor", SMALL), None)], SETTINGS)[0]
    assert part_of_the_limit(defective) < 0.7 * part_of_the_limit(sound[0])


def test_one_thread_of_two_is_reported() -> None:
    with replaced(ONE_THREAD):
        calls = [(call("aten::mul.Tensor", SMALL, 2), None)]
        found = harness.all_measured(calls, replace(SETTINGS, seconds=0.2))[0]
    # Any of the three, because changing the number of threads and back has a varying cost.
    reported = ("poorly parallel", "serial kernel", "slower with threads")
    assert any(words in modifiers(found) for words in reported)


def test_a_transposed_operand_is_reported(sound: Measured) -> None:
    assert "layout-bound" in modifiers(sound[1])


def test_a_recycled_buffer_is_not_allocation_bound(sound: Measured) -> None:
    fresh, recycled = sound[2:4]
    assert (fresh.faults or 0) > 10_000
    assert (recycled.faults or 0) < 100
    assert "allocation" not in harness.kind(recycled)


def test_padding_that_does_not_help_is_not_advised(sound: Measured) -> None:
    assert "shape-bound" not in modifiers(sound[4])
