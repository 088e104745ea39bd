"""What is timed, and in which order: one block of every subject in each round, shuffled.

Subjects of one round meet the same neighbours, clock rate and memory traffic, so ratios of blocks of the same
round hold where the times themselves move.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfprobe.bench import rules
from perfprobe.bench.clocks import Block, Clock, unstarved
from perfprobe.bench.drift import FEW

_SHORT_NS = 1_000_000  # a call that is shorter gets two calls before its block, others one


@dataclass(frozen=True)
class Arguments:
    """One set of operands.

    restore: puts back what calls wrote; None when they write nothing. calls: so many may come before that.
    """

    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    restore: Callable[[], object] | None = None
    calls: int = FEW


class Subject:
    """A function and the sets of arguments that it is called on in turn.

    threads: of torch's pool while it runs. written: how many of the sets differ in what calls write; None for
    all of them. evict: drives what was put back out of the caches.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        sets: Sequence[Arguments],
        threads: int,
        written: int | None = None,
        evict: Callable[[], object] | None = None,
    ) -> None:
        self.name, self.threads = name, threads
        self.calls, self._warm_up = 1, 1
        self._function, self._sets, self._evict = function, sets, evict
        self._next = self._since_restore = 0
        self._starves = False
        between = (written or len(sets)) * sets[0].calls
        self._between_restores = between if sets[0].restore else 1 << 62

    def calibrate(self, clock: Clock) -> None:
        """Find the calls of a block."""
        block = min((self.block(clock) for _ in range(2)), key=lambda block: block.time_ns)
        self._warm_up = 2 if block.longest_ns < _SHORT_NS and self._between_restores > 2 else 1
        for _ in range(2):  # one call alone is timed too long when it is short
            calls = rules.calls_of_a_block(block.longest_ns, self.threads)
            self.calls = min(calls, self._between_restores - self._warm_up)
            if self.calls == 1:
                break
            block = self.block(clock)

    def block(self, clock: Clock) -> Block:
        """Time one block, after calls that are not timed; again where a GPU waited for the host.

        Calls that have once not been had without that are timed once from then on.
        """
        if self._starves:
            return self._block(clock)
        found = unstarved(lambda: self._block(clock))
        self._starves = found.starved
        return found

    def _block(self, clock: Clock) -> Block:
        self._put_back(self._warm_up + self.calls)
        self._call(self._take(self._warm_up))
        function, timed = self._function, [(one.args, one.kwargs) for one in self._take(self.calls)]
        clock.begin()
        for args, kwargs in timed:
            function(*args, **kwargs)
        return clock.end(self.calls)

    def run(self, calls: int) -> None:
        """So many calls that are not timed."""
        for _ in range(calls):
            self._put_back(1)
            self._call(self._take(1))

    def _call(self, chosen: Sequence[Arguments]) -> None:
        for arguments in chosen:
            self._function(*arguments.args, **arguments.kwargs)

    def _put_back(self, calls: int) -> None:
        """Restore what was written when so many more calls would be too many, well before any is timed."""
        if self._since_restore + calls > self._between_restores:
            for arguments in self._sets:
                if arguments.restore is not None:
                    arguments.restore()
            if self._evict is not None:
                self._evict()
            self._since_restore = 0
        self._since_restore += calls

    def _take(self, count: int) -> list[Arguments]:
        """The next sets in turn."""
        first, self._next = self._next, (self._next + count) % len(self._sets)
        return [self._sets[(first + index) % len(self._sets)] for index in range(count)]


def rounds(
    subjects: Sequence[Subject],
    clock: Clock,
    seconds: float,
    order: random.Random,
    set_threads: Callable[[int], object],
) -> dict[str, list[Block]]:
    """Time all subjects, round by round, until the first one is known well enough.

    Args:
        subjects: the first one is the call itself.
        seconds: CPU time to take, about.
        set_threads: of torch's pool.

    Returns:
        The blocks of each subject by its name, one a round: those of one place belong together.
    """
    found: dict[str, list[Block]] = {subject.name: [] for subject in subjects}
    began_s = time.process_time()
    for subject in subjects:
        set_threads(subject.threads)
        subject.calibrate(clock)
    times_ns: list[float] = []
    while not times_ns or not rules.enough(times_ns, time.process_time() - began_s, seconds):
        for subject in order.sample(subjects, len(subjects)):
            set_threads(subject.threads)
            found[subject.name].append(subject.block(clock))
        times_ns.append(found[subjects[0].name][-1].time_ns)
    return found
