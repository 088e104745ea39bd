"""Pairs of runs: quantiles against a printed table, p by trying all signs, errors by simulation."""

from __future__ import annotations

from itertools import product
from math import exp, log
from random import Random

import pytest

from benchmarks import paired as simulation
from perfprobe.models.paired import (
    ERROR,
    LOOKS,
    Verdict,
    chance,
    difference,
    error_of,
    flipped,
    holm,
    interval,
    t_chance,
    t_quantile,
)

# Two-sided quantiles of Student's t as printed in the NIST/SEMATECH e-Handbook, 1.3.6.7.2 (three decimals).
TABLE = {
    1: {0.2: 3.078, 0.1: 6.314, 0.05: 12.706, 0.02: 31.821, 0.01: 63.657, 0.002: 318.309},
    2: {0.2: 1.886, 0.1: 2.920, 0.05: 4.303, 0.02: 6.965, 0.01: 9.925, 0.002: 22.327},
    3: {0.2: 1.638, 0.1: 2.353, 0.05: 3.182, 0.02: 4.541, 0.01: 5.841, 0.002: 10.215},
    4: {0.2: 1.533, 0.1: 2.132, 0.05: 2.776, 0.02: 3.747, 0.01: 4.604, 0.002: 7.173},
    5: {0.2: 1.476, 0.1: 2.015, 0.05: 2.571, 0.02: 3.365, 0.01: 4.032, 0.002: 5.893},
    7: {0.2: 1.415, 0.1: 1.895, 0.05: 2.365, 0.02: 2.998, 0.01: 3.499, 0.002: 4.785},
    11: {0.2: 1.363, 0.1: 1.796, 0.05: 2.201, 0.02: 2.718, 0.01: 3.106, 0.002: 4.025},
    30: {0.2: 1.310, 0.1: 1.697, 0.05: 2.042, 0.02: 2.457, 0.01: 2.750, 0.002: 3.385},
    100: {0.2: 1.290, 0.1: 1.660, 0.05: 1.984, 0.02: 2.364, 0.01: 2.626, 0.002: 3.174},
}


@pytest.mark.parametrize("degrees", TABLE)
def test_quantiles_are_those_of_a_printed_table(degrees: int) -> None:
    for error, value in TABLE[degrees].items():
        assert t_quantile(degrees, error) == pytest.approx(value, abs=0.0006)
        assert t_chance(degrees, t_quantile(degrees, error)) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("count", range(6, 13))
def test_the_chance_of_signs_is_that_of_trying_all(count: int) -> None:
    random = Random(count)
    values = [random.gauss(0.3, 1) for _ in range(count)]
    sums = [
        abs(sum(map(float.__mul__, values, map(float, signs)))) for signs in product((1, -1), repeat=count)
    ]
    as_far = sum(each >= abs(sum(values)) - 1e-9 for each in sums)
    assert flipped(values) == as_far / 2**count


def test_signs_of_values_that_are_all_alike() -> None:
    assert flipped([0.1] * 6) == 2 / 64
    assert flipped([0.0] * 6) == 1
    assert flipped([0.1, -0.1] * 4) == 1
    assert flipped([0.1] * 5) is None
    assert flipped([0.1] * 33) is None


def test_an_interval_is_that_of_the_textbook() -> None:
    """Student's own example, as in Biometrika 6 (1908): the gain of sleep of ten patients."""
    gains = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert interval(gains) == pytest.approx((1.58, 0.70, 2.46), abs=0.005)
    assert chance(gains) == pytest.approx(0.00283, abs=0.00001)


def test_holm_is_that_of_the_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_few_pairs_decide_nothing() -> None:
    one = difference([100.0], [150.0])
    assert (one.ratio, one.low, one.p, one.verdict(), one.is_enough()) == (
        1.5,
        None,
        None,
        Verdict.UNKNOWN,
        False,
    )
    assert one.least == 0.1
    assert difference([100.0], [150.0], spread=0.02).least == pytest.approx(0.044, abs=0.001)
    four = difference([100.0] * 4, [150.0, 150.1, 149.9, 150.0])
    assert (four.verdict(), four.pairs) == (Verdict.UNKNOWN, 4)
    spread = 0.0544 / 100  # of the logarithms
    assert four.least == pytest.approx(t_quantile(4, LOOKS[5]) * spread / 5**0.5, rel=0.01)


def test_verdicts() -> None:
    def said(*changes: float) -> tuple[Verdict, bool]:
        found = difference([100.0] * len(changes), [100 * (1 + each / 100) for each in changes])
        return found.verdict(), found.is_enough()

    assert said(9.8, 10, 10.2, 10.1, 9.9) == (Verdict.SLOWER, True)
    assert said(-9.8, -10, -10.2, -10.1, -9.9) == (Verdict.FASTER, True)
    assert said(0.2, -0.2, 0.1, -0.1, 0) == (Verdict.SAME, True)
    assert said(0.9, -0.9, 0.8, -0.9, 0) == (Verdict.SAME, False)
    assert said(5, -5, 3, -3, 0) == (Verdict.UNKNOWN, False)
    assert said(2.9, 3, 3.1, 3.2, 2.8) == (Verdict.SLOWER, False)  # certain, but perhaps below the limit


def test_a_ratio_is_the_geometric_mean() -> None:
    found = difference([100.0, 200.0], [110.0, 180.0])
    assert found.ratio == pytest.approx(exp((log(1.1) + log(0.9)) / 2))


def test_the_error_of_a_look() -> None:
    assert [error_of(pairs) for pairs in (5, 12, 20)] == [LOOKS[5], LOOKS[12], LOOKS[12]]
    assert error_of(8, looked=False) == ERROR
    again = simulation.levels(200_000)
    assert again.keys() == LOOKS.keys()
    for pairs, level in again.items():
        assert LOOKS[pairs] == pytest.approx(level, rel=0.1)


def test_equal_programs_are_seldom_called_different() -> None:
    """With all looks counted. The random numbers are always the same; `benchmarks.paired` has more."""
    found = simulation.simulated(600, 0.0)
    assert found.verdicts[Verdict.SLOWER] + found.verdicts[Verdict.FASTER] <= 0.05 * 600
    assert found.missed <= 0.05 * 600


def test_a_change_of_the_limit_is_found() -> None:
    found = simulation.simulated(300, 0.03)
    assert found.verdicts[Verdict.FASTER] == 0
    assert found.verdicts[Verdict.SLOWER] > 0.85 * 300
