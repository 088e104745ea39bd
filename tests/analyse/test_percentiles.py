"""Percentiles by nearest rank, compared with counting; the interval of a median with a published table."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, takewhile
from math import comb

import numpy as np
import pytest

from perfprobe.analyse.percentiles import median_interval, percentile, rank


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


def test_five_values_have_nomedian_interval() -> None:
    assert median_interval(np.arange(5.0)) == (None, None)
