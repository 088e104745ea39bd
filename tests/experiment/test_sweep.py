"""Settings of a sweep, and what the times of its runs say, on hand-made times."""

from __future__ import annotations

from random import Random

import pytest

from perfprobe.experiment.sweep import best, ignored, rows
from perfprobe.experiment.thread_settings import settings
from perfprobe.support.errors import UsageError
from perfprobe.tables.sweep import Sweep, SweepRun
from tests.snapshots import Snapshot


def sweep(
    times_ns: dict[int, list[float]], asked: str = "1,2", threads: tuple[int, ...] = (2, 1, 2)
) -> Sweep:
    """Runs by setting, a time for each round."""
    runs = [
        SweepRun(at, round_, time_ns, 10, threads[at])
        for at, of_setting in times_ns.items()
        for round_, time_ns in enumerate(of_setting)
    ]
    return Sweep("train.py", settings(asked), tuple(runs))


def test_settings_are_variables_of_the_environment(snapshot: Snapshot) -> None:
    as_it_is, one, two = settings("1,4+passive+close")
    assert (dict(as_it_is.variables), as_it_is.to_paste) == ({}, "")
    assert two.variables["OMP_WAIT_POLICY"] == "passive"
    assert two.variables["OMP_PROC_BIND"] == "close"
    found = settings("1,2", "0,3")
    assert [setting.workers for setting in found] == [0, 0, 3, 0, 3]
    named = [as_it_is, one, two, found[2]]
    snapshot("\n".join(f"{setting.name}: {setting.to_paste}" for setting in named))


@pytest.mark.parametrize("text", ["", "0", "two", "1,", "2+fast", "-1", "1 2"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        settings(text)


def test_gains_are_of_pairs() -> None:
    """The machine becomes five times slower; the pairs do not notice."""
    load = [1, 1, 2, 3, 5, 5, 4, 5, 5, 5]
    made = sweep(
        {0: [100.0 * at for at in load], 1: [50.0 * at for at in load], 2: [100.0 * at for at in load]}
    )
    found = rows(made)
    figures = [(row.pairs, row.gain, row.low, row.high) for row in found[1:]]
    assert figures == [pytest.approx((10, gain, gain, gain)) for gain in (2, 1)]
    assert best(found) == found[1]


def test_noise_recommends_nothing() -> None:
    random = Random(3)
    times = {at: [random.uniform(90, 110) for _ in range(10)] for at in range(3)}
    assert best(rows(sweep(times))) is None


def test_a_round_that_was_cut_short_counts_where_it_is_paired() -> None:
    made = sweep({0: [100, 100], 1: [50, 50, 1], 2: []})
    found = rows(made)
    assert [(row.setting, row.pairs) for row in found] == [(each.name, 2) for each in made.settings[:2]]


def test_few_rounds_recommend_nothing() -> None:
    found = rows(sweep({0: [100] * 4, 1: [50] * 4, 2: [100] * 4}))
    assert (found[1].low, found[1].high, best(found)) == (None, None, None)


def test_all_settings_together_are_seldom_wrong() -> None:
    """Ten rounds with three settings that gain nothing."""
    random, wrong = Random(1), 0
    for _ in range(400):
        times = {at: [random.gauss(100, 2) for _ in range(10)] for at in range(4)}
        wrong += best(rows(sweep(times, "1,2,3", threads=(1, 1, 2, 3)))) is not None
    assert wrong <= 0.05 * 400


def test_a_program_that_ignores_the_number_of_threads_is_found() -> None:
    times = {0: [100.0], 1: [100.0], 2: [100.0]}
    assert ignored(rows(sweep(times, threads=(4, 4, 4))))
    assert not ignored(rows(sweep(times)))
    assert not ignored(rows(sweep(times, "2,2+passive", (2, 2, 2))))
