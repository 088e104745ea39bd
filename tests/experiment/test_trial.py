"""Tries of a program, on made runs: what is tried how often, what comes of it, and what is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from perfprobe import advising
from perfprobe.collect.tries.declared import asked
from perfprobe.experiment import suggested, trial
from perfprobe.experiment.copied import Folder
from perfprobe.experiment.outcome import Computed
from perfprobe.experiment.pace import Pace, steps_of_a_run
from perfprobe.experiment.rounds import Ran, Rounds
from perfprobe.experiment.stacked import automatic, stacked, together
from perfprobe.experiment.trial import Trials
from perfprobe.experiment.variant import Variant
from perfprobe.support.errors import InputError, UsageError
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.tried import Applied, Outcome, Proposed, Trial, Tried
from tests.snapshots import Snapshot

STEPS = Computed(roots=("1.0", "0.5"), written={})
# How many times as long a step is with each word.
TIMES = {"fused": 0.5, "foreach": 0.7, "no-grad": 0.9, "workers=1": 2.0, "gc=freeze": 1.0, "thp": 0.8}


class Made(Rounds):
    """Runs that take as long as `TIMES` says; it notes them."""

    def __init__(self, of: MadeTrials, tries: Sequence[tuple[str, ...]]) -> None:
        self._of, self._tries, self.is_late = of, tries, False

    def one(self, at: int, options: Sequence[str]) -> Ran:
        words = self._tries[at]
        if "compile" in words:
            raise InputError("compile: the program ended with exit code 1", "train.py", "no compiler")
        path = f"{len(self._of.made)} {'+'.join(words)}"
        if len(self._of.made) == self._of.interrupted_at:
            raise KeyboardInterrupt
        self._of.made.append(words)
        jitter = 1 + 0.002 * (len(self._of.made) % 3)
        time_ns = 1e7 * jitter
        for word in words:
            time_ns *= self._of.times.get(word, 1.0)
        found = replace(STEPS, roots=("1.0", "0.7")) if "bf16" in words else STEPS
        self._of._computed[path] = found
        self._of._paces[path] = Pace(time_ns=time_ns, own_ns=time_ns, steps=30, all_steps=400)
        return Ran(variant=at, path=path, value=RunValue(steps=30))

    def rounds(
        self, most: int, options: Sequence[str], among: Sequence[int] | None = None
    ) -> Iterator[list[Ran]]:
        for _ in range(most):
            self.is_late = len(self._of.made) >= self._of.late_at
            if self.is_late:
                return
            yield [self.one(at, options) for at in among or ()]


class MadeTrials(Trials):
    """Tries on made runs."""

    late_at = interrupted_at = 10_000

    def __init__(self, times: dict[str, float] | None = None) -> None:
        source = Folder("/none", (), 0)
        super().__init__(
            Variant(name="", words=("train.py",)), source, "", time_s=600, progress=lambda *_: None
        )
        self.made: list[tuple[str, ...]] = []
        self.times = TIMES if times is None else times

    def _rounds(self, tries: Sequence[tuple[str, ...]], whole: int, time_s: float | None) -> Rounds:
        return Made(self, tries)


def applied(path: str, _folder: str) -> tuple[Applied, ...]:
    words = path.partition(" ")[2].split("+")
    return tuple(
        Applied(word=word, times=0 if word == "channels-last" else 1, place="train.py:9", code=f"with {word}")
        for word in words
    )


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[..., MadeTrials]:
    monkeypatch.setattr(trial, "_applied", applied)
    return MadeTrials


def measured(trials: MadeTrials, *words: str) -> dict[str, Tried]:
    trials.begin()
    return {each.name: each for each in trials.measure([tuple(word.split("+")) for word in words])}


def test_each_try_has_its_outcome_and_runs_no_more_than_it_must(make: Any) -> None:
    trials = make()
    found = measured(trials, "fused", "workers=1", "gc=freeze", "bf16", "channels-last", "compile")
    outcomes = {name: one.outcome for name, one in found.items()}
    assert outcomes == {
        "fused": Outcome.HELPS,
        "workers=1": Outcome.SLOWER,
        "gc=freeze": Outcome.SAME,
        "bf16": Outcome.DIFFERS,
        "channels-last": Outcome.NOT_TRIED,
        "compile": Outcome.FAILED,
    }
    assert found["fused"].gain == pytest.approx(2, rel=0.01)
    assert (found["fused"].low or 9) < 2 < (found["fused"].high or 0)
    assert found["compile"].why.endswith("1; no compiler")
    assert found["bf16"].pairs == 0
    # A pilot, two unchanged, one of each that can be, five rounds of those that may help.
    assert len(trials.made) == trials.runs == 3 + 5 + 5 * (1 + 3)


def test_what_helped_is_put_together_and_what_no_longer_helps_is_dropped(make: Any) -> None:
    trials = make()
    found = measured(trials, "foreach", "fused", "no-grad", "workers=1")
    assert together(list(found.values())) == ["fused", "no-grad"]
    whole, dropped = stacked(trials, list(found.values()))
    assert whole is not None
    assert (whole.words, dropped) == (("fused", "no-grad"), ())
    assert whole.gain == pytest.approx(1 / 0.45, rel=0.01)


def test_a_word_that_gains_nothing_beside_another_is_dropped(make: Any) -> None:
    trials = make()
    found = measured(trials, "fused", "thp")
    trials.times = {"fused": 0.5}
    whole, dropped = stacked(trials, list(found.values()))
    assert whole is not None
    assert (whole.words, dropped) == (("fused",), ("thp",))


def test_one_that_helps_is_the_stack_and_none_is_no_stack(make: Any) -> None:
    trials = make()
    found = list(measured(trials, "fused", "workers=1").values())
    assert stacked(trials, found) == (found[0], ())
    assert stacked(trials, found[1:]) == (None, ())


def test_what_was_measured_before_an_interrupt_or_the_end_of_the_time_counts(make: Any) -> None:
    for name, at in (("interrupted_at", 14), ("late_at", 10)):
        trials = make()
        setattr(trials, name, at)
        found = measured(trials, "fused", "no-grad")
        assert found["fused"].outcome is Outcome.UNKNOWN
        assert 1 <= found["fused"].pairs < 5
        assert (trials.interrupt is not None, trials.is_late) == (name == "interrupted_at", name == "late_at")


@pytest.mark.parametrize(
    ("step_s", "to_evaluation", "steps"),
    [
        (0.01, 0, 200),
        (0.001, 0, 400),
        (0.2, 0, 40),
        (1.0, 0, 20),
        (5.0, 0, 13),
        (0.01, 350, 350),
        (1.0, 99, 20),
    ],
)
def test_a_run_has_enough_steps_and_is_not_long(step_s: float, to_evaluation: int, steps: int) -> None:
    time_ns = step_s * 1e9
    pilot = Pace(time_ns=time_ns, own_ns=time_ns, steps=9, all_steps=9, to_evaluation=to_evaluation)
    assert steps_of_a_run(pilot) == steps
    assert steps_of_a_run(replace(pilot, steps=0)) == 400


def test_if_time_is_short_the_best_tries_go_on(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = make()
    monkeypatch.setattr(trials, "_fit", lambda done, _run_s: 1 if done >= 2 else None)
    found = measured(trials, "no-grad", "fused", "thp")
    assert [found[name].pairs for name in ("no-grad", "fused", "thp")] == [2, 5, 2]
    monkeypatch.undo()
    left_s = trials._left_s()
    assert left_s is not None
    assert [trials._fit(done, left_s / 12.5) for done in (1, 2, 4, 5)] == [None, 3, 11, None]


def test_what_is_tried_by_default_are_words() -> None:
    assert len(automatic()) > 12
    assert all(asked(words) for words in automatic())


def test_what_a_recording_proposes_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"what": "num_workers=2", "gain": 1.4, "tries": ["workers=1", "workers=2"]},
        {"rule": "attention", "file": "/a/b.py", "line": 7, "gain": None, "tries": [], "what": ""},
        {"what": "fused", "gain": 1.1, "tries": ["fused", "workers=1"]},
    ]

    class Read:
        def __init__(self, path: str) -> None:
            assert path == "run.perfprobe"

        def document(self, _view: object) -> dict[str, Any]:
            return {"tables": {"advice": rows}}

    monkeypatch.setattr(suggested, "Results", Read)
    found = suggested.proposed("run.perfprobe")
    assert suggested.tries_of(found) == [("workers=1",), ("workers=2",), ("fused",)]
    assert (found[1].what, found[1].place) == ("attention", "b.py:7")


TRIAL = Trial(
    program="train.py --epochs 1",
    step_ns=42e6,
    by_steps=True,
    steps=40,
    runs=31,
    time_s=250,
    itself="repeats itself: 40 losses, 12 printed numbers, 1 file",
    tried=(
        Tried(
            words=("fused",),
            outcome=Outcome.HELPS,
            gain=1.424,
            low=1.36,
            high=1.48,
            pairs=6,
            result="within 1e-5",
            is_checked=True,
            applied=(Applied(word="fused", times=1, place="train.py:9", code="Adam(..., fused=True)"),),
        ),
        Tried(
            words=("workers=1", "persistent-workers"),
            outcome=Outcome.SLOWER,
            gain=0.519,
            low=0.5,
            high=0.54,
            pairs=5,
            result="same bits",
            is_checked=True,
        ),
        Tried(words=("bf16",), outcome=Outcome.DIFFERS, result="differs: loss 0.41 against 0.36 at step 40"),
        Tried(words=("threads=1",), outcome=Outcome.UNKNOWN, gain=1.01, low=0.97, high=1.05, pairs=12),
        Tried(
            words=("compile",), outcome=Outcome.FAILED, why="the program ended with exit code 1; no compiler"
        ),
        Tried(words=("channels-last",), outcome=Outcome.NOT_TRIED),
        *(
            Tried(words=(word,), outcome=Outcome.SAME)
            for word in ("thp", "gc=freeze", "foreach", "prefetch=4")
        ),
    ),
)
STACK = replace(TRIAL.tried[0], words=("fused", "no-grad"), gain=1.6, low=1.5, high=1.7)


@pytest.mark.parametrize("width", [80, 160])
def test_the_screen_has_all_of_it_in_a_few_lines(width: int, snapshot: Snapshot) -> None:
    text = advising.text(TRIAL, width=width)
    assert len(text.splitlines()) <= 15
    edit = Proposed(what="scaled_dot_product_attention", place="model.py:7", gain=1.23, tries=())
    auto = replace(TRIAL, tried=TRIAL.tried[:1], stack=STACK, dropped=("thp",), proposed=(edit,))
    auto = replace(auto, diff="--- a/train.py\n+++ b/train.py\n")
    stopped = replace(TRIAL, tried=TRIAL.tried[1:2], stopped="interrupted")
    nothing = replace(stopped, step_ns=0.0)
    snapshot("\n".join([text, *(advising.text(each, width=width) for each in (auto, stopped, nothing))]))


def test_json_has_all_tries_and_the_command() -> None:
    found = advising.document(replace(TRIAL, stack=STACK))
    assert [row["outcome"] for row in found["tables"]["tries"]] == [
        each.outcome.value for each in TRIAL.tried
    ]
    command = "perfprobe run --try fused --try no-grad train.py --epochs 1"
    assert (found["recommended"], found["stack"]["gain"]) == (command, 1.6)


def test_a_gate_fails_for_a_gain_that_is_certain() -> None:
    codes = [
        advising.exit_code(TRIAL, advising.gate(limit))
        for limit in (None, "gain>10%", "gain > 35 %", "gain>37%")
    ]
    assert codes == [0, 5, 5, 0]
    for limit in ("gain", "step>3%", "gain>x%", "gain>5", "gain>-1%"):
        with pytest.raises(UsageError):
            advising.gate(limit)
