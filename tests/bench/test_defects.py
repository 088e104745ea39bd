"""Defects put in on purpose are told by the verdicts, through the real harness.

Numbers come from `python -m benchmarks.defects`; here are classes, of effects that leave room to spare.
"""

from dataclasses import replace

import pytest

from benchmarks import harness
from benchmarks.defects import CLONES, FRESH, ONE_THREAD, RECYCLED, TRANSPOSED, call, replaced
from perfprobe.bench.measure import BenchSettings

torch = pytest.importorskip("torch")

SETTINGS = BenchSettings(processes=1, most_processes=1, seconds=0.1)
SMALL = "f32[1024,1024] f32[1024,1024]"


def modifiers(found):
    return " · ".join(found.verdict.modifiers)


@pytest.fixture(scope="module")
def sound():
    calls = [
        call("aten::mul.Tensor", SMALL),
        call("aten::div.Tensor", TRANSPOSED),
        call("aten::clone", FRESH),
        call("aten::copy_", RECYCLED),
        call("aten::bmm", "f64[256,13,13] f64[256,13,13]"),
    ]
    return harness.all_measured([(one, None) for one in calls], SETTINGS)


def test_extra_clones_lower_the_part_of_the_limit(sound) -> None:
    with replaced(CLONES.format(count=6)):
        defective = harness.all_measured([(call("aten::mul.Tensor", SMALL), None)], SETTINGS)[0]
    before, after = (harness.nearest(found).fraction.value for found in (sound[0], defective))
    assert after < 0.7 * before


def test_one_thread_of_two_is_told() -> None:
    with replaced(ONE_THREAD):
        calls = [(call("aten::mul.Tensor", SMALL, 2), None)]
        found = harness.all_measured(calls, replace(SETTINGS, seconds=0.2))[0]
    assert "parallel" in modifiers(found) or "serial" in modifiers(found)


def test_a_transposed_operand_is_told(sound) -> None:
    assert "layout-bound" in modifiers(sound[1])


def test_a_recycled_buffer_is_not_allocation_bound(sound) -> None:
    fresh, recycled = sound[2:4]
    assert fresh.faults > 10_000
    assert recycled.faults < 100
    assert "allocation" not in recycled.verdict.kind


def test_padding_that_does_not_help_is_not_advised(sound) -> None:
    assert "shape-bound" not in modifiers(sound[4])
