"""How much CPU time samples stand for, where looks come more often at some lines than at others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfprobe.analyse.account.positions import cpu_times
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.python import Samples
from perfprobe.tables.steps import Steps
from tests.build import Program

MS = 1_000_000
OS_THREAD = 1000  # of `Program.thread(0)`
TRUTH = [0.2, 0.4, 0.4]
LINES = ((0.2, "/p/a.py:1 main"), (0.6, "/p/a.py:2 main"), (1.0, "/p/a.py:3 main"))  # by end, in a step


def made(lengths_ms: list[float], seed: int, tmp_path: Path) -> list[float] | None:
    """The shares of the lines in the CPU time of steps with these lengths; None if they are not known.

    Looks come eight times as often in the third line as elsewhere. Only every third step has any.
    """
    random, program, clock = np.random.default_rng(seed), Program(), 7 * MS
    program.thread(0)
    starts, ends = [], []
    for number, length_ms in enumerate(lengths_ms):
        length = int(length_ms * MS)
        starts.append(clock)
        ends.append(clock + length)
        row = {"start_ns": clock, "end_ns": clock + length, "cpu_ns": length, "clock_ns": clock + length}
        program.row("live_steps", *(dict.fromkeys(LiveSteps.dtypes, 0) | row).values(), anew=True)
        place = random.uniform(0.6, 1) if random.random() < 0.8 else random.uniform(0, 0.6)
        frame = next(name for end, name in LINES if place < end)
        if number % 3 == 0:
            at = clock + int(place * length)
            program.sample(at - 1000, at, frame, clock_ns=at)
        clock += length
    recording = program.recording(tmp_path)
    none = {name: np.zeros(len(starts), dtype) for name, dtype in Steps.dtypes.items()}
    steps = Steps(**none | {"start_ns": np.array(starts), "end_ns": np.array(ends)})
    samples = recording[Samples]
    found_ns = cpu_times(recording, OS_THREAD, steps, samples)
    if found_ns is None:
        return None
    line_of = {program.stack(name): at for at, (_, name) in enumerate(LINES)}
    sums = [0.0, 0.0, 0.0]
    for stack, time_ns in zip(samples.stack.tolist(), found_ns.tolist(), strict=True):
        sums[line_of[stack]] += time_ns / MS / sum(lengths_ms)
    return sums


@pytest.mark.parametrize("seed", range(5))
def test_lines_have_their_time_though_looks_prefer_one(seed: int, tmp_path: Path) -> None:
    assert made([10] * 600, seed, tmp_path) == pytest.approx(TRUTH, abs=0.04)


def test_a_slower_processor_changes_no_share(tmp_path: Path) -> None:
    lengths_ms = np.random.default_rng(1).uniform(8, 15, 600).tolist()
    assert made(lengths_ms, 1, tmp_path) == pytest.approx(TRUTH, abs=0.04)


def test_longer_steps_are_apart(tmp_path: Path) -> None:
    assert made([10, 10, 10, 10, 80] * 300, 2, tmp_path) == pytest.approx(TRUTH, abs=0.06)


def test_of_few_steps_nothing_is_known(tmp_path: Path) -> None:
    assert made([10] * 9, 0, tmp_path) is None
