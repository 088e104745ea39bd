"""What rises over the steps: slopes against the truth that made the figures, and what must stay silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfprobe.analyse.trends import trend
from perfprobe.diagnose.trends import rising
from perfprobe.merge import link
from perfprobe.models.intervals import slope_interval
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Rising
from perfprobe.tables.trends import Trends
from tests.build import Program

MIB = 1 << 20
STEPS = 200
Figures = npt.NDArray[np.float64]


def test_intervals_contain_the_slope_that_made_the_values() -> None:
    steps, inside = np.arange(12), 0
    for seed in range(400):
        values = 3.0 * steps + np.random.default_rng(seed).normal(0, 5, 12)
        slope, low, high = slope_interval(values, steps)
        assert low <= slope <= high
        inside += low <= 3 <= high
    assert 0.92 <= inside / 400 <= 0.99


def made(share_of_steps: Callable[[Figures], Figures], seed: int = 0, noise: float = 0.3) -> Figures:
    """300 MiB and a curve over the run from 0 to 1, in MiB, read with noise of so many MiB."""
    curve = share_of_steps(np.linspace(0, 1, STEPS))
    return (300 + curve + np.random.default_rng(seed).normal(0, noise, STEPS)) * MIB


def judged(tmp_path: Path, *, memory: Figures | None = None, times: Figures | None = None) -> Rising:
    """What the rule says of these values of each step."""
    rises = [None if each is None else trend(np.arange(len(each)), each) for each in (memory, times)]
    found = rising(Findings(link(Program().recording(tmp_path)), Trends(rises[0], rises[1], -1, 0.0)))
    assert found is not None
    return found


CURVES: dict[str, tuple[Callable[[Figures], Figures], bool]] = {
    "100 KiB a step": (lambda at: 20 * at, True),
    "steps that keep and free": (lambda at: 100 * at + 30 * (np.arange(STEPS) % 7 == 0), True),
    "faster and faster": (lambda at: 60 * at**2, True),
    "less than 2 %": (lambda at: 4 * at, False),
    "nothing": (lambda at: 0 * at, False),
    "a pool that fills": (lambda at: 100 * (1 - np.exp(-8 * at)), False),
    "a cache that is full after two thirds": (lambda at: 100 * np.minimum(1.5 * at, 1), False),
    "one large tensor": (lambda at: np.where(at > 0.5, 200.0, 0.0), False),
    "up and down": (lambda at: 100 * np.sin(20 * at), False),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("seed", range(3))
def test_memory_grows_only_where_it_goes_on_growing(tmp_path: Path, name: str, seed: int) -> None:
    curve, grows = CURVES[name]
    assert judged(tmp_path, memory=made(curve, seed)).memory is grows


@pytest.mark.parametrize(("last", "slower"), [(1.0, False), (1.2, False), (1.6, True), (20.0, True)])
def test_steps_are_slower_from_a_third_more_on(tmp_path: Path, last: float, slower: bool) -> None:
    noise = np.random.default_rng(0).lognormal(0, 0.1, STEPS)
    assert judged(tmp_path, times=np.linspace(1, last, STEPS) * noise).slower is slower


def test_few_values_show_no_trend() -> None:
    assert trend(np.arange(23), np.arange(23.0)) is None
    assert trend(np.arange(24), np.arange(24.0)) is not None
