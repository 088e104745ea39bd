"""Measures calls in several fresh processes, one after the other; never imports torch itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from perfprobe.bench import rules
from perfprobe.bench.answers import NO_TIME, Answer, Case
from perfprobe.bench.memory import free_bytes
from perfprobe.bench.omitted import omitted
from perfprobe.bench.process import Ended, MeasuringProcess, command
from perfprobe.bench.schedule import Countdown, Schedule, Turn
from perfprobe.bench.summary import has_faults, spread_of, summarise, with_recycled
from perfprobe.models.verdicts import judge
from perfprobe.tables.machine import Machine
from perfprobe.tables.measurements import CRASH, TIME, Measurements, Seen, Untried, Wanted

INTERRUPTED = "interrupted"
TIME_UP = "out of time (--time)"
Progress: TypeAlias = Callable[[int, int, "float | None", str], None]


@dataclass(frozen=True)
class BenchSettings:
    """How to measure.

    Attributes:
        processes: fresh processes for each case.
        most_processes: for cases whose processes disagree.
        seconds: approximate CPU time of a case in one process.
        memory_bytes: for the operands of a case; None for half of the available memory.
        threads: for every case; None for the case's own number.
        counterfactuals: whether changed calls are timed too.
        seed: of orders and values.
        time_s: wall time for everything; None for no limit.
        machine: its ceilings; None if they are not known.
    """

    processes: int = 3
    most_processes: int = 5
    seconds: float = 1.0
    memory_bytes: int | None = None
    threads: int | None = None
    counterfactuals: bool = True
    seed: int = 0
    time_s: float | None = None
    machine: Machine | None = None


def measure(
    wanted: Sequence[tuple[Wanted, Seen | None]],
    settings: BenchSettings,
    progress: Progress | None = None,
    *,
    recording: str | None = None,
    words: Sequence[str] | None = None,
) -> Measurements:
    """Measures calls and judges them.

    Ctrl-C ends it early: the result has the calls that at least one process measured, even in part, and
    `stopped` says so. `stopped` is also set if time ran out before every call was measured once.

    Args:
        wanted: calls with what a recording says of them, the hottest first. Equal calls are measured once.
        progress: called before and after every case of every process with the number of cases done, the
            number of cases, seconds left (None if not yet known) and what is being measured.
        recording: the file that the calls are from.
        words: the command line of a measuring process, if not the usual one.

    Raises:
        EnvironmentLack: no measuring process can start, for example without torch.
    """
    run = _Run(settings, progress or (lambda *_: None), words or command())
    asked = [(_settled(call, settings), seen) for call, seen in wanted]
    stopped = None
    try:
        run.all([call for call, _ in asked])
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    rows = [
        summarise(call, seen, run.answers[call], settings.machine)
        for call, seen in asked
        if run.answers[call]
    ]
    if stopped is None and len(rows) < len(asked):
        stopped = TIME_UP
    return Measurements(
        settings.machine.name if settings.machine else _processor(),
        run.torch,
        recording,
        tuple(replace(row, verdict=judge(row)) for row in rows),
        stopped=stopped,
        notes=tuple(run.notes()),
    )


@dataclass
class _Run:
    """The processes of one `measure`, and their answers so far."""

    settings: BenchSettings
    progress: Progress
    words: Sequence[str]
    torch: str = ""
    answers: dict[Wanted, list[Answer]] = field(default_factory=dict)
    _done: int = 0
    _all: int = 0

    def all(self, calls: Sequence[Wanted]) -> None:
        """Measures each call in as many processes as it needs and time allows."""
        self.answers = {call: [] for call in calls}
        self._began_s, self._countdown = time.monotonic(), Countdown()
        self._schedule = Schedule(
            list(self.answers),
            processes=self.settings.processes,
            seconds=self.settings.seconds,
            changes=self.settings.counterfactuals,
            time_s=self.settings.time_s,
        )
        for number in range(self.settings.most_processes):
            open_calls = [call for call in self.answers if self._is_open(call, number)]
            chosen = self._schedule.chosen(open_calls, number)
            if not chosen:
                return
            more = max(self.settings.processes - number - 1, 0)
            self._all = self._done + len(chosen) * (1 + more)
            order = random.Random(self.settings.seed + number)
            is_limited = self._schedule.is_limited
            self._one_process(number, chosen if is_limited else order.sample(chosen, len(chosen)))

    def notes(self) -> Iterator[str]:
        """Yields problems that the rows do not contain."""
        yield from dict.fromkeys(
            note for answers in self.answers.values() for a in answers for note in a.notes
        )
        for call, answers in self.answers.items():
            failed = [answer.not_rebuilt for answer in answers if answer.not_rebuilt is not None]
            if failed and len(failed) < len(answers):
                yield f"{call.operator} {call.signature}: one of {len(answers)} processes: {failed[0]}"
        if self.settings.time_s is not None:
            yield from omitted(self.answers, self.settings.processes, self.settings.time_s)

    def _is_open(self, call: Wanted, number: int) -> bool:
        answers = self.answers[call]
        if any(answer.not_rebuilt is not None for answer in answers):
            return False
        return number < self.settings.processes or spread_of(answers) > rules.MORE_PROCESSES

    def _one_process(self, number: int, calls: Sequence[Wanted]) -> None:
        """Asks one process for all calls. If a call ends the process, a new one takes the calls left."""
        left = list(calls)
        while left and self._schedule.left_s() > 0:
            with self._process(number) as process:
                while left:
                    call = left.pop(0)
                    turn = self._schedule.turn(call, number, len(left))
                    if turn is None:
                        continue
                    self._tell(call.operator)
                    self._measure(process, len(calls) - len(left), call, turn)
                    self._done += 1
                    self._tell(call.operator)
                    if process.ended:
                        break
                else:
                    self._recycled(process, calls)

    def _measure(self, process: MeasuringProcess, number: int, call: Wanted, turn: Turn) -> None:
        """Asks for one call. After Ctrl-C its partial answer is kept."""
        began_s, answers = time.monotonic(), self.answers[call]
        with_changes = turn.with_changes and not any(answer.cause == CRASH for answer in answers)
        case = Case(number, call, with_changes=with_changes, limit_s=turn.limit_s)
        try:
            answer = self._ask(process, case, turn.is_only)
        except KeyboardInterrupt:
            if process.latest is not None:
                answers.append(process.latest)
            raise
        if self.settings.counterfactuals and not with_changes:
            answer = replace(answer, untried=[Untried("", "", NO_TIME)])
        answers.append(answer)
        if answer.not_rebuilt is None or answer.cause == TIME:
            self._schedule.took(call, time.monotonic() - began_s, with_changes)

    def _recycled(self, process: MeasuringProcess, calls: Sequence[Wanted]) -> None:
        """Times calls in recycled memory, last in a process: it cannot give memory back afterwards."""
        for number, call in enumerate(calls):
            answer = self.answers[call][-1] if self.answers[call] else None
            if answer is None or not has_faults(answer):
                continue
            if not self._schedule.can_recycle(call):
                untried = Untried("recycled output", "recycled output", NO_TIME)
                self.answers[call][-1] = replace(answer, untried=[*answer.untried, untried])
                continue
            self._tell(f"{call.operator} in recycled memory")
            left_s = self._schedule.left_s()
            case = Case(number, call, recycled=True, limit_s=left_s if self._schedule.is_limited else None)
            self.answers[call][-1] = with_recycled(answer, self._ask(process, case))
            if process.ended:
                return

    def _ask(self, process: MeasuringProcess, case: Case, is_only: bool = False) -> Answer:
        """Returns the answer; if the process ended first, what was known by then."""
        try:
            return process.ask(case, is_only=is_only)
        except Ended as why:
            if process.latest is None:
                return Answer(case.number, not_rebuilt=str(why), cause=why.cause)
            note = f"{process.latest.operator} {case.wanted.signature}: measured in part: {why}"
            notes = [*process.latest.notes, note]
            return replace(process.latest, notes=notes, cause=why.cause)

    @contextmanager
    def _process(self, number: int) -> Iterator[MeasuringProcess]:
        settings = {
            "seconds": self.settings.seconds,
            "memory_bytes": self.settings.memory_bytes or free_bytes() // 2,
            "seed": self.settings.seed + number,
        }
        process = MeasuringProcess(self.words, settings)
        self.torch = process.torch
        self._schedule.started(process.start_s)
        try:
            yield process
        finally:
            process.close()

    def _tell(self, what: str) -> None:
        spent_s = time.monotonic() - self._began_s
        estimate_s = spent_s / self._done * (self._all - self._done) if self._done else None
        left_s = self._countdown.left_s(estimate_s, self._schedule.left_s())
        self.progress(self._done, self._all, left_s, what)


def _settled(call: Wanted, settings: BenchSettings) -> Wanted:
    return call if settings.threads is None else replace(call, threads=settings.threads)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else "unknown"
