"""Percentiles by nearest rank, compared with counting; the interval of a median with a published table."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, product, takewhile
from math import comb

import numpy as np
import pytest

from perfprobe.models.intervals import (
    covering_interval,
    known_median,
    left_out,
    lower_median,
    median_interval,
    percentile,
    rank,
)


def test_the_nearest_rank_is_taken() -> None:
    values = np.array([5, 1, 4, 2, 3], np.int64)
    assert [percentile(values, percent) for percent in (1, 50, 95, 99)] == [1, 3, 5, 5]
    assert percentile(values[:0], 50) == -1


@pytest.mark.parametrize("percent", [1, 50, 95, 99, 100])
def test_the_percentile_is_the_smallest_value_with_enough_values_up_to_it(percent: int) -> None:
    for count in range(1, 200):
        place = int(rank(count, percent))
        assert (place + 1) * 100 >= count * percent
        assert place == 0 or place * 100 < count * percent


def test_ranks_of_several_counts() -> None:
    counts = np.array([0, 1, 2, 40, 41], np.int64)
    assert rank(counts, 95).tolist() == [0, 0, 1, 37, 38]


@pytest.mark.parametrize(
    ("number", "places"),  # Conover's and other tables of the sign test at 95 %: ranks from 1
    [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (15, (4, 12)), (20, (6, 15)), (25, (8, 18))],
)
def test_the_interval_of_a_median_agrees_with_published_tables(number: int, places: tuple[int, int]) -> None:
    assert median_interval(np.arange(1.0, number + 1)) == places


def test_intervals_are_those_of_exact_binomials() -> None:
    for number in (*range(6, 200), 999, 3001):
        chances = accumulate(Fraction(comb(number, heads), 2**number) for heads in range(number))
        below = sum(1 for _ in takewhile(lambda chance: chance <= Fraction(1, 40), chances))
        assert median_interval(np.arange(number)) == (below - 1, number - below)


def test_five_values_have_no_interval() -> None:
    assert median_interval(np.arange(5.0)) == (None, None)


def test_values_outside_are_as_many_as_tosses_of_coins_allow() -> None:
    """Of all 2**n ways in which n values can be below or above their median, counted one by one."""
    for number in range(1, 15):
        below = [sum(way) for way in product((0, 1), repeat=number)]
        fits = [k for k in range(number) if sum(count <= k for count in below) <= 0.025 * len(below)]
        assert left_out(number) == max(fits, default=-1)


@pytest.mark.parametrize("number", [2_000, 100_001, 3_000_000])
def test_the_interval_of_many_values_is_that_of_the_normal_distribution(number: int) -> None:
    assert left_out(number) == pytest.approx((number - 1.96 * number**0.5) / 2, abs=2)


def test_the_interval_of_a_few_values_says_how_likely_it_holds_the_median() -> None:
    assert covering_interval([4.0]) == (4.0, 4.0, 0.0)
    assert covering_interval([3.0, 1.0, 2.0]) == (1.0, 3.0, 0.75)
    assert covering_interval(range(9, 0, -1)) == (2, 8, 1 - 2 * (1 + 9) / 512)


def test_medians_of_known_values() -> None:
    assert (known_median([3, None, 1]), known_median([None])) == (2, None)
    assert (lower_median([3, None, 1]), lower_median([])) == (1, None)
