"""The exponent with which a cost grows."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

from benchmarks.overhead.growth import PROGRAMS, SIZES, exponent


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_exponent_of_a_power(power: float) -> None:
    sizes = (10, 100, 1_000)
    assert exponent(sizes, [7 * size**power for size in sizes]) == pytest.approx(power)


def test_a_cost_below_the_noise_has_none() -> None:
    assert math.isnan(exponent((10, 100), (-1, 5)))


def test_every_program_has_sizes() -> None:
    assert PROGRAMS.keys() == SIZES.keys()
