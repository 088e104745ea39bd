"""A limit that is timed beside a call, and its dispatch time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from perfprobe.bench import allocator
from perfprobe.bench.clocks import Clock
from perfprobe.bench.subjects import Arguments, Subject


@dataclass(frozen=True)
class Reference:
    """A limit beside a call. It allows (ns of a call of the subject - floor_ns) * scale.

    Attributes:
        kind: as in `Bound`.
        text: what is timed, in words.
        part: the kind of arithmetic, each of which is a separate limit. Of references of equal kind and part
            the fastest counts.
    """

    kind: str
    text: str
    scale: float
    floor_ns: float
    subject: Subject
    part: str = ""


class Floors:
    """Quick timings of one process before the rounds: dispatch times, and which of several is faster."""

    def __init__(self, torch: Any, clock: Clock) -> None:
        self._torch, self._clock = torch, clock
        self._known: dict[str, float] = {}

    def of(self, name: str, function: Callable[..., object], one: Arguments) -> float:
        """Returns ns of a call on one element."""
        if name not in self._known:
            self._known[name] = self.median_ns(Subject("floor", function, [one], 1))
        return self._known[name]

    def median_ns(self, subject: Subject) -> float:
        """Returns ns of a call."""
        return self.medians_ns([subject])[0]

    def medians_ns(self, subjects: list[Subject]) -> list[float]:
        """Returns ns of a call of each subject, timed alternately."""
        with allocator.settled():
            for subject in subjects:
                self._torch.set_num_threads(subject.threads)
                subject.calibrate(self._clock)
            rounds = [[self._time_ns(subject) for subject in subjects] for _ in range(5)]
        return [median(times_ns) for times_ns in zip(*rounds, strict=True)]

    def _time_ns(self, subject: Subject) -> float:
        self._torch.set_num_threads(subject.threads)
        return subject.block(self._clock).time_ns
