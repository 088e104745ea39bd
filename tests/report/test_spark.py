"""The row of bars, compared with a slow count, and what is left of it in encodings without bars."""

from __future__ import annotations

import random
from statistics import median_low

import pytest

from perfprobe.report.render.text import page
from perfprobe.report.section.block import Aside, Said
from perfprobe.report.section.screen.spark import BARS, MOST, spark
from perfprobe.support import units
from perfprobe.support.text import encodable
from tests.snapshots import Snapshot


@pytest.mark.parametrize("seed", range(30))
def test_bars_are_medians_of_consecutive_steps(seed: int) -> None:
    rng = random.Random(seed)
    steps = [rng.randrange(1, 10**9) for _ in range(rng.randrange(4, 200))]
    bars, _, longest = spark(steps).partition(" to ")
    assert len(bars) == min(len(steps), MOST)
    of_bar: list[list[int]] = [[] for _ in bars]
    for at, step in enumerate(steps):  # a step belongs to the last bar that begins before it
        of_bar[max(bar for bar in range(len(bars)) if len(steps) * bar // len(bars) <= at)].append(step)
    assert max(map(len, of_bar)) - min(map(len, of_bar)) <= 1
    medians = [median_low(part) for part in of_bar]
    assert longest == units.duration(max(medians))
    for bar, median in zip(bars, medians, strict=True):
        level = BARS.index(bar)
        assert level / 8 < median / max(medians) <= (level + 1) / 8


@pytest.mark.parametrize("steps", [[], [5], [900, 899], [100] * 40, [90, 100] * 9, [0, 0, 0, 0]])
def test_few_steps_and_steps_that_are_alike_have_no_bars(steps: list[int]) -> None:
    assert spark(steps) == ""


def test_rare_long_steps_are_seen() -> None:
    assert spark([1, 1, 1, 1, 1, 1, 1, 8] * 3) == "▁▁▁▁▁▁▁█▁▁▁▁▁▁▁█▁▁▁▁▁▁▁█ to 8 ns"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_without_utf_8_the_bars_are_other_letters_of_the_same_width(encoding: str) -> None:
    shown = encodable(BARS, encoding)
    assert shown.isascii()
    assert len(set(shown)) == len(BARS)
    assert encodable(BARS, "utf-8") == BARS


def test_an_aside_is_left_out_before_what_is_behind_it(snapshot: Snapshot) -> None:
    line = Said("STEP", ["38.0 ms median", Aside(f"; {'▇' * 24}"), ", p95 900 ms", "; 52 samples/s"])
    snapshot("".join(page([line], width=width) for width in (200, 48, 46)))


@pytest.mark.parametrize(
    ("time_ns", "error_ns", "text"),
    [
        (38_000_000, 2_100_000, "38.0 ms +- 2.1"),
        (460_000_000, 54_400_000, "460 ms +- 54"),
        (1_240_000_000, 34_000_000, "1.24 s +- 0.03"),
        (1_240_000_000, 0, "1.24 s"),
        (460_000_000, 400_000, "460 ms"),
        (998, 20, "998 ns +- 20"),
        (700_000_000_000, 1_000_000_000, "11 min 40 s +- 1.00 s"),
    ],
)
def test_an_error_has_the_unit_and_decimals_of_its_figure(time_ns: int, error_ns: int, text: str) -> None:
    assert units.with_error(time_ns, error_ns) == text
