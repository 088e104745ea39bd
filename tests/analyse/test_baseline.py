"""The interval of a median, against a published table."""

from __future__ import annotations

import numpy as np
import pytest

from perfprobe.analyse.baseline import _interval


@pytest.mark.parametrize(
    ("number", "places"),  # Conover's and other tables of the sign test at 95 %: ranks from 1
    [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (15, (4, 12)), (20, (6, 15)), (25, (8, 18))],
)
def test_the_interval_of_a_median_agrees_with_published_tables(number: int, places: tuple[int, int]) -> None:
    assert _interval(np.arange(1.0, number + 1)) == places


def test_five_values_have_no_interval() -> None:
    assert _interval(np.arange(5.0)) == (None, None)
