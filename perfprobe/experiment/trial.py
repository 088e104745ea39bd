"""Tries changes on a program: each in pairs with the unchanged program, its result compared."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfprobe.analyse.tries import tried_at
from perfprobe.collect.tries.declared import Asked
from perfprobe.collect.tries.declared import asked as parsed
from perfprobe.experiment.copied import Folder, copy, files_in, moved
from perfprobe.experiment.outcome import Checked, Computed, Itself, check, computed, itself, values_of
from perfprobe.experiment.pace import MOST_STEPS, PILOT_S, Pace, pace, steps_of_a_run
from perfprobe.experiment.private import remove_all
from perfprobe.experiment.process import run
from perfprobe.experiment.rounds import TIMED, Progress, Ran, Rounds
from perfprobe.experiment.variant import Variant
from perfprobe.models.paired import FEWEST, LIMIT, MOST, Difference, Verdict, difference
from perfprobe.runs import Run
from perfprobe.support.errors import InputError
from perfprobe.tables.advice import Check
from perfprobe.tables.trace import Line
from perfprobe.tables.tried import Applied, Outcome, Tried
from perfprobe.tables.tries import Tries

_BEFORE_DROPPING = 2  # pairs
_OPTIONS = (*TIMED, "--results", "--exit-after")
# The largest relative difference that a change may make.
_BUDGETS = {Check.SAME_BITS: 0.0, Check.CLOSE: 1e-5, Check.DTYPE: 1e-3}
_BUDGET_OF = {"bf16": 2e-2}


class Trials:
    """Runs a program and its changes, each time in a new copy of its folder.

    Args:
        program: unchanged.
        source: its folder.
        folder: for recordings and copies; the caller removes it.
        time_s: begin no round that would end after this time; None for no limit.
        progress: see `Rounds`.
        most: pairs of each try.
        seed: of the order of runs.
    """

    def __init__(
        self,
        program: Variant,
        source: Folder,
        folder: str,
        *,
        time_s: float | None,
        progress: Progress,
        most: int = MOST,
        seed: int | None = None,
    ) -> None:
        self._program, self._source, self._folder = program, source, folder
        self._copy = os.path.join(os.path.realpath(folder), "copy", os.path.basename(source.path))
        self._progress, self._most, self._seed = progress, most, seed
        self._begun_s, self._time_s = time.monotonic(), time_s
        self._computed: dict[str, Computed] = {}
        self._paces: dict[str, Pace] = {}
        self._unchanged: list[Ran] = []
        self._series = 0
        self._options: tuple[str, ...] = _OPTIONS
        self.is_cut = self.is_late = False
        self.interrupt: KeyboardInterrupt | None = None

    @property
    def runs(self) -> int:
        """How many there were."""
        return len(self._computed)

    @property
    def spent_s(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._begun_s

    @property
    def unchanged(self) -> list[Pace]:
        """How fast the unchanged program was, in all runs of the same length."""
        return [self._paces[ran.path] for ran in self._unchanged]

    @property
    def by_steps(self) -> bool:
        """Whether times are of steps."""
        return all(each.steps > 0 for each in self.unchanged)

    def begin(self) -> None:
        """Runs the unchanged program, to see how many steps a run shall have; then twice more."""
        rounds = self._rounds([()], 3, None)
        first = ("--steps", f":{MOST_STEPS}", "--duration", f"{PILOT_S}s")
        steps = steps_of_a_run(self._paces[rounds.one(0, (*_OPTIONS, *first)).path])
        self._options = (*_OPTIONS, "--steps", f":{steps}")
        self._unchanged = [rounds.one(0, self._options) for _ in range(2)]
        self.is_cut = all(each.all_steps >= steps for each in self.unchanged)

    def record(self) -> str:
        """Records a run of the unchanged program with its operators; returns the recording."""
        options = ("-q", "--exit-after", *self._options[len(_OPTIONS) :])
        return self._rounds([()], 1, None).one(0, options).path

    @property
    def floor(self) -> Itself:
        """How the unchanged program repeats itself."""
        return itself([self._computed[ran.path] for ran in self._unchanged], is_cut=self.is_cut)

    def measure(self, tries: Sequence[tuple[str, ...]], among: int | None = None) -> list[Tried]:
        """Tries these, one beside the other: each once to see whether it can be, then in rounds.

        among: of how many gains none may be wrong; None: of all that are measured.
        """
        rounds = self._rounds([(), *tries], len(tries) + (FEWEST + 1) * (len(tries) + 1), self._left_s())
        found = {at + 1: Tried(words=words, outcome=Outcome.UNKNOWN) for at, words in enumerate(tries)}
        runs: dict[int, list[tuple[Ran, Ran]]] = {at: [] for at in found}
        try:
            for at, one in found.items():
                found[at] = self._first(rounds, at, one)
            among = among or sum(one.outcome is Outcome.UNKNOWN for one in found.values())
            self._run_rounds(rounds, found, runs, among)
        except KeyboardInterrupt as error:
            self.interrupt = error
        self.is_late |= rounds.is_late
        return [self._judged(one, runs[at], among or 1) for at, one in found.items()]

    def _run_rounds(
        self,
        rounds: Rounds,
        found: Mapping[int, Tried],
        runs: Mapping[int, list[tuple[Ran, Ran]]],
        among: int,
    ) -> None:
        """Runs the program and those tries of which it is not known yet what they gain."""
        active = [at for at, one in found.items() if one.outcome is Outcome.UNKNOWN]
        for done in range(self._most):
            begun_s = self.spent_s
            active = [at for at in active if not self._is_enough(found[at].words, runs[at], among)]
            ran = next(iter(rounds.rounds(1, self._options, [0, *active])), None) if active else None
            if ran is None:
                return
            self._unchanged.append(ran[0])
            for each in ran[1:]:
                runs[each.variant].append((ran[0], each))
            ratios = {at: self._difference(found[at].words, runs[at], among).ratio for at in active}
            fit = self._fit(done + 1, (self.spent_s - begun_s) / len(ran))
            active = sorted(sorted(active, key=ratios.__getitem__)[:fit])

    def _fit(self, done: int, run_s: float) -> int | None:
        """How many tries can still have enough pairs in the time that is left; None for all."""
        left_s, to_do = self._left_s(), FEWEST - done
        if left_s is None or to_do <= 0 or done < _BEFORE_DROPPING:
            return None
        return max(int(left_s / to_do / max(run_s, 1e-3)) - 1, 1)

    def _left_s(self) -> float | None:
        return None if self._time_s is None else max(self._time_s - self.spent_s, 0.0)

    def _rounds(self, tries: Sequence[tuple[str, ...]], whole: int, time_s: float | None) -> Rounds:
        self._series += 1
        folder = os.path.join(self._folder, f"runs-{self._series}")
        os.mkdir(folder)
        variants = [
            replace(self._program, name=" ".join(words), options=_options_of(words)) for words in tries
        ]
        return Rounds(
            variants,
            folder,
            progress=self._progress,
            time_s=time_s,
            whole=whole,
            seed=self._seed,
            start=self._start,
        )

    def _start(self, variant: Variant, options: Sequence[str], path: str) -> None:
        """Runs a variant in a copy of the folder, whose place is always the same."""
        target = self._copy
        printed = os.path.join(self._folder, "printed")
        try:
            copy(self._source, target)
            before = files_in(target)
            words = moved(variant.words, self._source, target)
            run(replace(variant, words=words, folder=target), (*options, *variant.options), path, printed)
            after = files_in(target)
            written = {
                name: values_of(os.path.join(target, name))
                for name, about in after.items()
                if before.get(name) != about and not os.path.islink(os.path.join(target, name))
            }
            written |= {name: ("removed",) for name in before if name not in after}
            recording = Run(path).recording
            self._computed[path] = computed(recording, printed, written)
            self._paces[path] = pace(Run(path))
        finally:
            remove_all(os.path.dirname(target))

    def _first(self, rounds: Rounds, at: int, one: Tried) -> Tried:
        """One run: whether the change can be put on, and whether the program computes the same."""
        try:
            ran = rounds.one(at, self._options)
        except InputError as error:
            why = error.what.partition(": ")[2] or error.what
            return replace(one, outcome=Outcome.FAILED, why=f"{why}; {error.remedy}" if error.remedy else why)
        one = replace(one, applied=_applied(ran.path, self._copy))
        if not all(each.times for each in one.applied):
            return replace(one, outcome=Outcome.NOT_TRIED)
        checked = self._checked(one.words, [ran])
        return replace(
            one,
            outcome=Outcome.DIFFERS if checked.differs else Outcome.UNKNOWN,
            result=checked.text,
            is_checked=checked.is_same,
            step_ns=self._time_ns(ran, one.words),
        )

    def _checked(self, words: tuple[str, ...], runs: Sequence[Ran]) -> Checked:
        """The first of these runs that does not compute the same, else the last one."""
        put_on = parsed(words)
        budget, name = max((_budget(one), one.name) for one in put_on)
        floor, redraws = self.floor, any(one.name in _REDRAW for one in put_on)
        found = [check(floor, self._computed[ran.path], budget, name, redraws=redraws) for ran in runs]
        return next((each for each in found if not each.is_same), found[-1])

    def _time_ns(self, ran: Ran, words: Sequence[str]) -> float:
        """Waiting for the program's own threads and processes counts where a change is about these."""
        found = self._paces[ran.path]
        return found.time_ns if any(one.declared.is_of_threads for one in parsed(words)) else found.own_ns

    def _difference(self, words: Sequence[str], pairs: Sequence[tuple[Ran, Ran]], among: int) -> Difference:
        before, after = ([self._time_ns(pair[at], words) for pair in pairs] for at in (0, 1))
        return difference(before, after, among=max(among, 1))

    def _is_enough(self, words: Sequence[str], pairs: Sequence[tuple[Ran, Ran]], among: int) -> bool:
        return len(pairs) >= FEWEST and self._difference(words, pairs, among).is_enough(LIMIT)

    def _judged(self, one: Tried, pairs: Sequence[tuple[Ran, Ran]], among: int) -> Tried:
        """What all pairs say."""
        if not pairs:
            return one
        found = self._difference(one.words, pairs, among)
        checked = self._checked(one.words, [changed for _, changed in pairs])
        outcome = _OUTCOMES[found.verdict(LIMIT)]
        if checked.differs:
            outcome = Outcome.DIFFERS
        return replace(
            one,
            outcome=outcome,
            gain=1 / found.ratio,
            low=None if found.high is None else 1 / found.high,
            high=None if found.low is None else 1 / found.low,
            pairs=len(pairs),
            step_ns=sum(self._time_ns(changed, one.words) for _, changed in pairs) / len(pairs),
            result=checked.text,
            is_checked=checked.is_same,
        )


_REDRAW = ("workers",)  # a worker has random numbers of its own
_OUTCOMES = {
    Verdict.FASTER: Outcome.HELPS,
    Verdict.SLOWER: Outcome.SLOWER,
    Verdict.SAME: Outcome.SAME,
    Verdict.UNKNOWN: Outcome.UNKNOWN,
}


def _budget(one: Asked) -> float:
    return _BUDGET_OF.get(one.name, _BUDGETS[Check[one.declared.check]])


def _options_of(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for each in words for word in ("--try", each))


def _applied(path: str, folder: str) -> tuple[Applied, ...]:
    """folder: the copy in which the program ran."""
    run = Run(path)
    table = run.find((Tries,)).get(Tries)
    if table is None:
        return ()
    rows = zip(table.word, table.times, table.place, tried_at(run.recording), strict=True)
    return tuple(_put_on(word, int(times), place, at, folder) for word, times, place, at in rows)


def _put_on(word: str, times: int, place: str, at: Line | None, folder: str) -> Applied:
    is_inside = at is not None and at.file.startswith(folder + os.sep)
    return Applied(
        word=word,
        times=times,
        place=place,
        code=parsed([word])[0].code,
        file=os.path.relpath(at.file, folder) if at is not None and is_inside else "",
        line=at.line if at is not None and is_inside else -1,
    )
