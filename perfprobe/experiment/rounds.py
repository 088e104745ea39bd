"""Runs variants in rounds: each once a round, back to back, in random order.

What one variant finds (a drifting load, a warmer processor) the others of its round find too.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence

from perfprobe.experiment.process import run
from perfprobe.experiment.variant import Variant
from perfprobe.runs import Run
from perfprobe.support.frozen import frozen
from perfprobe.tables.live_steps import Added, Baseline
from perfprobe.tables.run_value import RunValue

Progress = Callable[[int, int, str, "float | None"], None]
# Why an experiment ended early.
INTERRUPTED = "interrupted"
TIME_IS_UP = "the time is up"
TIMED = ("-q", "--benchmark")
# Operators, and Python functions by samples. Counting calls and recording children costs more than it tells.
WITH_ROWS = ("-q", "--python", "sample", "--children", "off")


@frozen(kw_only=True)
class Ran:
    """A run of a variant.

    Attributes:
        variant: its number.
        path: the recording.
        value: its figures.
        added: what recording added to a step, if that was measured.
    """

    variant: int
    path: str
    value: RunValue
    added: Added | None = None


class Rounds:
    """The runs of an experiment.

    Args:
        variants: what is run.
        folder: for the recordings, each in a folder of its own.
        progress: is called with the number of runs done and in total, the current variant, and seconds left.
        time_s: begin no round that would end after this time; None for no limit.
        whole: the number of runs that are planned.
        start: runs a variant into a file, in place of `process.run`.
        seed: of the order; None for a new one.
    """

    def __init__(
        self,
        variants: Sequence[Variant],
        folder: str,
        *,
        progress: Progress,
        time_s: float | None,
        whole: int,
        seed: int | None = None,
        start: Callable[[Variant, Sequence[str], str], None] | None = None,
    ) -> None:
        self._variants, self._folder, self._progress = variants, folder, progress
        self._start = start or run
        self._random = random.Random(seed)
        self._begun_s, self._time_s, self._whole = time.monotonic(), time_s, whole
        self._done = self._rounds = 0
        self._longest_s = 0.0
        self.is_late = False

    def rounds(
        self, most: int, options: Sequence[str], among: Sequence[int] | None = None
    ) -> Iterator[list[Ran]]:
        """Runs a round and yields it, up to `most` times: the runs of all variants, in their order.

        It ends early, with `is_late`, if there is no time for another round.

        Args:
            among: the numbers of the variants that run; it may change from round to round. None: all.
        """
        among = range(len(self._variants)) if among is None else among
        for _ in range(most):
            self.is_late = not self._has_time()
            if self.is_late:
                return
            begun_s, order = time.monotonic(), list(among)
            self._random.shuffle(order)
            found = {at: self.one(at, options) for at in order}
            self._longest_s = max(self._longest_s, time.monotonic() - begun_s)
            self._rounds += 1
            yield [found[at] for at in sorted(found)]

    def one(self, at: int, options: Sequence[str]) -> Ran:
        """Runs one variant."""
        variant = self._variants[at]
        self._progress(self._done, self._whole, variant.name, self._left_s())
        folder = os.path.join(self._folder, f"{self._done:03}-{at}")
        os.mkdir(folder)
        path = os.path.join(folder, "run.perfprobe")
        self._start(variant, options, path)
        self._done += 1
        found = Run(path).find((RunValue, Baseline))
        baseline = found.get(Baseline)
        added = None if baseline is None else (baseline.added_cpu or baseline.added)
        return Ran(variant=at, path=path, value=found[RunValue], added=added)

    @property
    def done(self) -> int:
        """The number of runs so far."""
        return self._done

    def _has_time(self) -> bool:
        """Whether another round fits. The first one always does."""
        if self._time_s is None or self._rounds == 0:
            return True
        return time.monotonic() - self._begun_s + self._longest_s <= self._time_s

    def _left_s(self) -> float | None:
        spent_s = time.monotonic() - self._begun_s
        if self._done == 0:
            return None
        left_s = spent_s / self._done * (self._whole - self._done)
        return left_s if self._time_s is None else min(left_s, max(self._time_s - spent_s, 0.0))
