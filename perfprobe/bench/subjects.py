"""Times blocks of subjects: each round has one block of every subject, in random order.

Subjects of one round meet the same neighbours, clock rate and memory traffic, so ratios within a round are
stable although times vary. The call and its limits are timed directly after each other, in as many rounds as
their ratios need, because verdicts depend on these.
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

_SHORT_NS = 1_000_000  # a shorter call is called twice before its block, a longer one once
_LONG_NS = 300_000_000  # a longer call has no call before its block: warming up would be a small part of it
_FEWEST = 3  # rounds
_CALIBRATION = 2  # blocks for calibrating a long call
_REPORTED_S = 1.0  # between two partial answers
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, MemoryError)


@dataclass(frozen=True)
class Arguments:
    """One set of operands.

    Attributes:
        restore: restores what calls wrote; None if they write nothing.
        calls: how many calls may come before that.
    """

    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    restore: Callable[[], object] | None = None
    calls: int = FEW


class Subject:
    """A function and the sets of arguments that it is called with in turn.

    Args:
        threads: size of torch's thread pool while it runs.
        written: how many sets differ in what calls write; None for all.
        evict: removes restored operands from the caches.
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
        """Finds the number of calls of a block; returns the last block timed for that."""
        block = self.block(clock)
        if block.longest_ns >= _LONG_NS:
            self._warm_up = 0
            return block
        block = min(block, self.block(clock), key=lambda block: block.time_ns)
        self._warm_up = 2 if block.longest_ns < _SHORT_NS and self._between_restores > 2 else 1
        for _ in range(2):  # the time of a single short call is too long
            calls = rules.calls_of_a_block(block.longest_ns, self.threads)
            self.calls = min(calls, self._between_restores - self._warm_up)
            if self.calls == 1:
                break
            block = self.block(clock)
        return block

    def block(self, clock: Clock) -> Block:
        """Times one block after untimed calls. Repeats it if a GPU waited for the host.

        If repeating never helped, later blocks of this subject are timed only once.
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
        """Runs this many calls without timing."""
        for _ in range(calls):
            self._put_back(1)
            self._call(self._take(1))

    def _call(self, chosen: Sequence[Arguments]) -> None:
        for arguments in chosen:
            self._function(*arguments.args, **arguments.kwargs)

    def _put_back(self, calls: int) -> None:
        """Restores what calls wrote if this many more calls would be too many. Do this well before timing."""
        if self._since_restore + calls > self._between_restores:
            for arguments in self._sets:
                if arguments.restore is not None:
                    arguments.restore()
            if self._evict is not None:
                self._evict()
            self._since_restore = 0
        self._since_restore += calls

    def _take(self, count: int) -> list[Arguments]:
        """Returns the next sets in turn."""
        first, self._next = self._next, (self._next + count) % len(self._sets)
        return [self._sets[(first + index) % len(self._sets)] for index in range(count)]


@dataclass
class Rounds:
    """What was timed.

    Attributes:
        blocks: for each subject by its name, one block a round. Blocks with the same index belong together.
        refused: by name of a subject that torch rejects, the reason.
        untimed: names of subjects for which no time was left.
    """

    blocks: dict[str, list[Block]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    untimed: list[str] = field(default_factory=list)

    def cut(self, names: Iterable[str] | None = None) -> None:
        """Drops an unfinished round. names: the subjects of the round; None for all."""
        of_round = list(self.blocks if names is None else names)
        count = min(len(self.blocks[name]) for name in of_round)
        self.blocks |= {name: self.blocks[name][:count] for name in of_round}


class Timing:
    """Times subjects, round by round, until the first one is known well enough.

    Args:
        seconds: approximate CPU time.
        set_threads: sets the size of torch's thread pool.
        deadline: when to end in any case, with what is known then.
        tell: called with partial results now and then, beginning after the first call.
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
        """Times all subjects and returns their blocks.

        Args:
            subjects: the call itself, then its limits. Limits are short, and are timed at least once.
            more: the call with other operands, and changed calls. They are timed if time is left and torch
                accepts them.
        """
        found, self._reported_s = Rounds(), self._deadline.now_s()
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
        """Times and reports the first block of the call. It is the only one if no time is left."""
        self._set_threads(call.threads)
        found.blocks[call.name] = [call.calibrate(self._clock)]
        self._tell(found)

    def _is_enough(self, call: Sequence[Block], began_s: float) -> bool:
        times_ns = [block.time_ns for block in call]
        spent_s = time.process_time() - began_s
        return self._deadline.is_past() or rules.enough(times_ns, spent_s, self._seconds)

    def _tried(self, more: Sequence[Subject], found: Rounds, round_s: float) -> list[Subject]:
        """Returns the subjects that torch accepts and for which there is time, after their first block.

        Args:
            round_s: duration of a round without them. Each subject is expected to take as long as the
                previous one.
        """
        kept: list[Subject] = []
        call_s = round_s / 2  # at most half of which is the call itself
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
        """Whether the ratios between limits and call are known well enough."""
        call, *limits = [[block.time_ns for block in found.blocks[subject.name]] for subject in subjects]
        ratios = [[a / b for a, b in zip(limit, call, strict=True) if b > 0] for limit in limits]
        spent_s = time.process_time() - began_s
        known = [of for of in ratios if of]
        return self._deadline.is_past() or rules.paired_enough(known, spent_s, self._seconds)

    def _round(
        self, subjects: Sequence[Subject], found: Rounds, deadline: Deadline, more: Sequence[Subject] = ()
    ) -> None:
        """Times a block of each until the deadline: the call among its limits, then the others, shuffled."""
        call, *limits = subjects
        order = self._order.sample(limits, len(limits))
        order.insert((len(limits) + self._order.randrange(2)) // 2, call)
        for subject in [*order, *self._order.sample(more, len(more))]:
            if deadline.is_past():
                return
            self._set_threads(subject.threads)
            found.blocks[subject.name].append(subject.block(self._clock))

    def _tell_sometimes(self, found: Rounds) -> None:
        if self._deadline.now_s() - self._reported_s >= _REPORTED_S:
            self._reported_s = self._deadline.now_s()
            self._tell(found)


def rounds(
    subjects: Sequence[Subject],
    clock: Clock,
    seconds: float,
    order: random.Random,
    set_threads: Callable[[int], object],
) -> dict[str, list[Block]]:
    """Returns the blocks of all subjects, without a deadline: see `Timing`."""
    return Timing(clock, seconds, order, set_threads).rounds(subjects).blocks
