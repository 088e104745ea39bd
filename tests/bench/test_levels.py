from __future__ import annotations

import random

import pytest

from perfprobe.bench.ceilings.levels import levels

SIZES = [65536 << step for step in range(15)]  # 64 KiB to 1 GiB


def curve(*plateaus: tuple[int, float], noise: float = 0.0, seed: int = 0) -> list[tuple[int, float]]:
    """The rate for each footprint, with relative noise."""
    numbers = random.Random(seed)
    rates = [next(rate for end, rate in plateaus if size <= end) for size in SIZES]
    return [
        (size, rate * (1 + noise * numbers.uniform(-1, 1))) for size, rate in zip(SIZES, rates, strict=True)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_known_levels_are_found_in_noisy_data(seed: int) -> None:
    made = curve((1 << 20, 120e9), (1 << 24, 60e9), (1 << 30, 15e9), noise=0.08, seed=seed)
    assert levels(made) == (("L2", 1 << 20), ("LLC", 1 << 24), ("DRAM", 1 << 30))


def test_a_flat_curve_has_only_the_memory_level() -> None:
    assert levels(curve((1 << 30, 20e9), noise=0.08)) == (("DRAM", 1 << 30),)


def test_the_cost_of_a_call_is_no_level() -> None:
    rising = [(size, 80e9 * size / (size + 65536)) for size in SIZES if size <= 1 << 23]
    falling = [(size, 20e9) for size in SIZES if size > 1 << 23]
    assert levels([*rising, *falling]) == (("LLC", 1 << 23), ("DRAM", 1 << 30))


def test_a_slope_between_two_plateaus_is_no_level() -> None:
    made = dict(curve((1 << 21, 90e9), (1 << 30, 10e9)))
    made |= {1 << 22: 55e9, 1 << 23: 30e9, 1 << 24: 17e9}
    assert [name for name, _ in levels(sorted(made.items()))] == ["LLC", "DRAM"]
    assert levels(sorted(made.items()))[0][1] == 1 << 21


def test_without_measurements_there_are_no_levels() -> None:
    assert levels([]) == ()
    assert levels([(1 << 20, 5e9)]) == (("DRAM", 1 << 20),)
