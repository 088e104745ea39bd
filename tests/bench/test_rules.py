"""Stopping rules, with synthetic noise whose answer is known."""

import random
from statistics import median

import pytest

from perfprobe.bench import rules


def test_a_block_has_as_many_calls_as_fit_in_150_us() -> None:
    assert rules.calls_of_a_block(1_000.0) == 150
    assert rules.calls_of_a_block(100_000.0) == 2
    assert rules.calls_of_a_block(1e9) == 1
    assert rules.calls_of_a_block(0.0) == 1000


def test_noise_is_the_error_of_the_median() -> None:
    assert rules.noise([90.0, 100.0, 110.0]) == pytest.approx(0.1 / 3**0.5)


def stop(values: list[float], cpu_s: float = 0.001) -> int:
    """The number of blocks taken."""
    return next(n for n in range(1, len(values) + 1) if rules.enough(values[:n], n * cpu_s, 1.0))


def test_steady_times_stop_at_the_fewest_blocks() -> None:
    assert stop([100.0] * 50) == rules.FEWEST_BLOCKS


def test_noisy_times_go_on_until_the_median_is_known() -> None:
    errors = []
    for seed in range(200):
        noise = random.Random(seed)
        values = [noise.gauss(100.0, 8.0) for _ in range(300)]
        errors.append(abs(median(values[: stop(values)]) - 100.0))
    # For normal numbers the MAD is 0.67 sigma and the standard error of a median 1.25 sigma / sqrt(n): 3.7 %
    # here.
    assert sum(error < 2 * 3.7 for error in errors) >= 0.9 * len(errors)


def test_measuring_stops_if_noise_does_not_fall() -> None:
    drifting = [100.0 * 1.2**n for n in range(60)]
    assert stop(drifting) == 2 * rules.FEWEST_BLOCKS


@pytest.mark.parametrize(("cpu_s", "blocks"), [(0.2, 5), (0.5, 5), (1.0, 3), (60.0, 3)])
def test_long_calls_stop_by_their_cpu_time(cpu_s: float, blocks: int) -> None:
    noise = random.Random(0)
    assert stop([noise.uniform(1.0, 2.0) for _ in range(50)], cpu_s) == blocks


def test_blocks_with_a_lowered_clock_rate_are_left_out() -> None:
    assert rules.at_full_clock([100.0, 101.0, 116.0, 119.0, 99.0]) == [True, True, True, False, True]


def test_one_contended_block_makes_a_call_contended() -> None:
    assert rules.uncontended([102.0, 100.0], [100.0, 100.0])
    assert not rules.uncontended([102.0, 104.0], [100.0, 100.0])


def test_an_estimate_is_over_processes() -> None:
    found = rules.estimate([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)
    assert rules.spread(found) == 1.0
    assert rules.estimate([]) is None


def test_ratios_are_known_if_every_process_has_them() -> None:
    steady, unsteady = [0.9, 0.91] * 5, [0.5, 1.5] * 5
    assert rules.paired_enough([steady, steady], 0.1, 1.0)
    assert not rules.paired_enough([steady, unsteady], 0.1, 1.0)
    assert rules.paired_enough([steady, unsteady], 0.5, 1.0)  # its time is used up
    assert rules.paired_enough([[0.5, 1.5] * 100], 0.1, 1.0)
    assert rules.paired_enough([], 0.1, 1.0)
