"""What is timed, and in which order: one block of every subject in each round, shuffled.

Subjects of one round meet the same neighbours, clock rate and memory traffic, so ratios of blocks of the same
round hold where the times themselves move. The call and its limits are timed one right after another, in as
many rounds as their ratios need: a verdict is made of these.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfprobe.bench import rules
from perfprobe.bench.clocks import Block, Clock, unstarved
from perfprobe.bench.deadline import Deadline
from perfprobe.bench.drift import FEW

_SHORT_NS = 1_000_000  # a call that is shorter gets two calls before its block, others one
_LONG_NS = 300_000_000  # a longer one gets none: what caches and threads do at its beginning is little of it
_FEWEST = 3  # rounds
_CALIBRATION = 2  # blocks of a call that takes long
_TOLD_S = 1.0  # between two reports of what is known so far
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, MemoryError)


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

    def calibrate(self, clock: Clock) -> Block:
        """Find the number of calls in a block; returns the last block timed for that."""
        block = self.block(clock)
        if block.longest_ns >= _LONG_NS:
            self._warm_up = 0
            return block
        block = min(block, self.block(clock), key=lambda block: block.time_ns)
        self._warm_up = 2 if block.longest_ns < _SHORT_NS and self._between_restores > 2 else 1
        for _ in range(2):  # one call alone is timed too long when it is short
            calls = rules.calls_of_a_block(block.longest_ns, self.threads)
            self.calls = min(calls, self._between_restores - self._warm_up)
            if self.calls == 1:
                break
            block = self.block(clock)
        return block

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
        """Run this many calls without timing."""
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


@dataclass
class Rounds:
    """What was timed. blocks: of each subject by its name, one a round: those of one place belong together.

    refused: by the name of a subject that torch does not take, why; untimed: for which no time left.
    """

    blocks: dict[str, list[Block]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    untimed: list[str] = field(default_factory=list)

    def cut(self, names: Iterable[str] | None = None) -> None:
        """Leave out a round that was not finished. names: of its subjects, all when not given."""
        of_round = list(self.blocks if names is None else names)
        count = min(len(self.blocks[name]) for name in of_round)
        self.blocks |= {name: self.blocks[name][:count] for name in of_round}


class Timing:
    """Times subjects, round by round, until the first one is known well enough.

    Args:
        seconds: CPU time to take, about.
        set_threads: of torch's pool.
        deadline: when to end in any case; what is known then is given.
        tell: takes what is known so far, from the first call on, from time to time.
    """

    def __init__(
        self,
        clock: Clock,
        seconds: float,
        order: random.Random,
        set_threads: Callable[[int], object],
        deadline: Deadline | None = None,
        tell: Callable[[Rounds], object] = lambda _: None,
    ) -> None:
        self._clock, self._seconds, self._order, self._set_threads = clock, seconds, order, set_threads
        self._deadline, self._tell = deadline or Deadline(), tell

    def rounds(self, subjects: Sequence[Subject], more: Sequence[Subject] = ()) -> Rounds:
        """The blocks of all.

        Args:
            subjects: the call itself, then its limits, which take little: they are timed once in any case.
            more: the call on other operands, and changed: as far as time allows and torch takes them.
        """
        found, self._told_s = Rounds(), self._deadline.now_s()
        began_s = time.process_time()
        call, *limits = subjects
        self._calibrate(call, found)
        for subject in limits:
            self._set_threads(subject.threads)
            subject.calibrate(self._clock)
        began_round_s = self._deadline.now_s()
        found.blocks |= {subject.name: [] for subject in limits}
        if not self._deadline.is_past():
            found.blocks[call.name] = []
        if missing := [of for of in subjects if not found.blocks[of.name]]:
            self._round(missing, found, Deadline())
        self._tell(found)
        kept = self._tried(more, found, self._deadline.now_s() - began_round_s)
        while not self._is_enough(found.blocks[call.name], began_s):
            self._round(subjects, found, self._deadline, kept)
            self._tell_sometimes(found)
        found.cut()
        began_s = time.process_time()
        while not self._is_paired(subjects, found, began_s):
            self._round(subjects, found, self._deadline)
            self._tell_sometimes(found)
        found.cut(subject.name for subject in subjects)
        return found

    def _calibrate(self, call: Subject, found: Rounds) -> None:
        """The call itself: its first block is told at once, and stays where there is time for no other."""
        self._set_threads(call.threads)
        found.blocks[call.name] = [call.calibrate(self._clock)]
        self._tell(found)

    def _is_enough(self, call: Sequence[Block], began_s: float) -> bool:
        times_ns = [block.time_ns for block in call]
        spent_s = time.process_time() - began_s
        return self._deadline.is_past() or rules.enough(times_ns, spent_s, self._seconds)

    def _tried(self, more: Sequence[Subject], found: Rounds, round_s: float) -> list[Subject]:
        """Those that torch takes and time allows; each has a block of the first round then.

        round_s: what a round takes without them. The next one is expected to take as long as the last.
        """
        kept: list[Subject] = []
        call_s = round_s / 2  # of which a half at most is the call itself
        for subject in more:
            needed_s = (_FEWEST - 1) * round_s + (_CALIBRATION + _FEWEST) * call_s
            if self._deadline.left_s() < needed_s:
                found.untimed.append(subject.name)
                continue
            began_s = self._deadline.now_s()
            self._set_threads(subject.threads)
            try:
                subject.calibrate(self._clock)
                block = subject.block(self._clock)
            except _REFUSALS as why:
                found.refused[subject.name] = str(why).strip().partition("\n")[0] or type(why).__name__
                continue
            found.blocks[subject.name] = [block]
            call_s = (self._deadline.now_s() - began_s) / (_CALIBRATION + 1)
            round_s += call_s
            kept.append(subject)
        return kept

    def _is_paired(self, subjects: Sequence[Subject], found: Rounds, began_s: float) -> bool:
        """Whether what the limits take is known as a part of the call's time."""
        call, *limits = [[block.time_ns for block in found.blocks[subject.name]] for subject in subjects]
        ratios = [[a / b for a, b in zip(limit, call, strict=True) if b > 0] for limit in limits]
        spent_s = time.process_time() - began_s
        known = [of for of in ratios if of]
        return self._deadline.is_past() or rules.paired_enough(known, spent_s, self._seconds)

    def _round(
        self, subjects: Sequence[Subject], found: Rounds, deadline: Deadline, more: Sequence[Subject] = ()
    ) -> None:
        """A block of each until the deadline: the call among its limits, then more, shuffled."""
        call, *limits = subjects
        order = self._order.sample(limits, len(limits))
        order.insert((len(limits) + self._order.randrange(2)) // 2, call)
        for subject in [*order, *self._order.sample(more, len(more))]:
            if deadline.is_past():
                return
            self._set_threads(subject.threads)
            found.blocks[subject.name].append(subject.block(self._clock))

    def _tell_sometimes(self, found: Rounds) -> None:
        if self._deadline.now_s() - self._told_s >= _TOLD_S:
            self._told_s = self._deadline.now_s()
            self._tell(found)


def rounds(
    subjects: Sequence[Subject],
    clock: Clock,
    seconds: float,
    order: random.Random,
    set_threads: Callable[[int], object],
) -> dict[str, list[Block]]:
    """The blocks of all subjects, without a deadline: see `Timing`."""
    return Timing(clock, seconds, order, set_threads).rounds(subjects).blocks
