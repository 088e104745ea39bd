"""Which runs are made, and when they are enough: runs whose values are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from perfprobe.experiment import pairs, rounds
from perfprobe.experiment.pairs import Asked, Pairs
from perfprobe.experiment.private import Ended
from perfprobe.experiment.rounds import INTERRUPTED, TIME_IS_UP, TIMED, WITH_ROWS, Ran, Rounds
from perfprobe.experiment.variant import Variant
from perfprobe.models.paired import Verdict
from perfprobe.support.errors import InputError
from perfprobe.tables.live_steps import Added
from perfprobe.tables.run_value import Measure, RunValue

VARIANTS = (Variant(name="A", words=("a.py",)), Variant(name="B", words=("b.py",)))
Values = Callable[[int, int], float]  # of a variant's run, by its number


class Given(Rounds):
    """Runs with the values of a function; it notes their options."""

    values: Values
    costs: Added | None = None
    steps = 30
    late_after = 99
    interrupts: BaseException | None = None

    def __init__(self, *_: object, **__: object) -> None:
        self.made: list[tuple[int, Sequence[str]]] = []
        self.is_late = False
        self._pair = 0

    def one(self, at: int, options: Sequence[str]) -> Ran:
        self.made.append((at, options))
        time_ns = type(self).values(at, self._pair)
        value = RunValue(steps=self.steps, own_ns=time_ns, wall_ns=2 * time_ns)
        return Ran(variant=at, path="", value=value, added=self.costs if len(self.made) == 1 else None)

    def rounds(
        self, most: int, options: Sequence[str], among: Sequence[int] | None = None
    ) -> Iterator[list[Ran]]:
        for _ in range(most):
            self.is_late = self._pair >= self.late_after
            if self.is_late:
                return
            if self.interrupts is not None and self._pair == 2:
                raise self.interrupts
            self._pair += 1
            yield [self.one(at, options) for at in (0, 1)]


def found(
    monkeypatch: pytest.MonkeyPatch, values: Values, asked: Asked | None = None, **given: object
) -> tuple[Pairs, list[tuple[int, Sequence[str]]]]:
    """The pairs, and the runs that were made: variant and options."""
    kept: list[Given] = []

    class Noted(Given):
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)
            kept.append(self)

    for name, value in {"values": staticmethod(values), **given}.items():
        setattr(Noted, name, value)
    monkeypatch.setattr(pairs, "Rounds", Noted)
    result = pairs.paired(VARIANTS, asked or Asked(), "", lambda *_: None)
    return result, kept[0].made


def slower(at: int, pair: int) -> float:
    return (100 + 0.2 * (pair % 3)) * (1.2 if at else 1)


def noisy(at: int, pair: int) -> float:
    return 100 + (20 if (pair + at) % 2 else 0)


def test_it_stops_as_soon_as_it_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    result, made = found(monkeypatch, slower)
    assert result.difference is not None
    assert (result.difference.pairs, result.difference.verdict()) == (5, Verdict.SLOWER)
    assert len(made) == 2 + 2 * 5  # the first run of each does not count
    assert [options for _, options in made[1:]] == [WITH_ROWS] * 11
    assert "--baseline" in made[0][1]
    assert result.with_rows == result.measured
    assert result.step_ns(0) == pytest.approx(100.2, abs=0.1)
    assert (result.stopped, result.exit_code) == ("", 0)


def test_it_goes_on_to_the_end_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = found(monkeypatch, noisy)
    assert result.difference is not None
    assert (result.difference.pairs, result.difference.verdict()) == (12, Verdict.UNKNOWN)
    result, _ = found(monkeypatch, noisy, Asked(most=6))
    assert len(result.measured) == 6


@pytest.mark.parametrize(
    ("added", "is_timed"),
    [
        (None, False),
        (Added(0.3, None, None), False),
        (Added(0.03, 0.01, 0.05), False),
        (Added(0.05, 0.03, 0.07), True),
    ],
)
def test_where_recording_costs_too_much_rows_come_from_other_pairs(
    monkeypatch: pytest.MonkeyPatch, added: Added | None, is_timed: bool
) -> None:
    result, made = found(monkeypatch, slower, costs=added)
    options = [each for _, each in made[2:]]
    if is_timed:
        assert options == [TIMED] * (2 + 10) + [WITH_ROWS] * 6  # first it is seen whether steps are found so
        assert (len(result.measured), len(result.with_rows)) == (5, 3)
    else:
        assert options == [WITH_ROWS] * 10


def test_time_that_is_up_and_interrupts_leave_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = found(monkeypatch, slower, late_after=3)
    assert (len(result.measured), result.stopped, result.exit_code) == (3, TIME_IS_UP, 0)
    result, _ = found(monkeypatch, slower, interrupts=KeyboardInterrupt())
    assert (len(result.measured), result.stopped, result.exit_code) == (2, INTERRUPTED, 130)
    result, _ = found(monkeypatch, slower, interrupts=Ended(15))
    assert (len(result.measured), result.stopped, result.exit_code) == (2, INTERRUPTED, 143)


def test_what_cannot_be_compared_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"A has no steps to compare: a\.py"):
        found(monkeypatch, slower, steps=0)
    with pytest.raises(InputError, match="A: the cpu time of its steps was not measured"):
        found(monkeypatch, slower, Asked(measure=Measure.CPU))


def test_rounds_have_each_variant_once_in_random_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, str]] = []
    shown: list[tuple[int, int, str]] = []

    def run(variant: Variant, _options: Sequence[str], path: str) -> None:
        assert Path(path).parent.is_dir()
        ran.append((variant.name, path))

    class Opened:
        def __init__(self, _path: str) -> None:
            pass

        def find(self, _kinds: object) -> dict[type, RunValue]:
            return {RunValue: RunValue(steps=1)}

    monkeypatch.setattr(rounds, "run", run)
    monkeypatch.setattr(rounds, "Run", Opened)
    made = Rounds(
        VARIANTS,
        str(tmp_path),
        progress=lambda done, whole, what, _: shown.append((done, whole, what)),
        time_s=None,
        whole=40,
        seed=1,
    )
    for found_here in made.rounds(20, ()):
        assert [each.variant for each in found_here] == [0, 1]
    order = [name for name, _ in ran]
    firsts = order[::2]
    assert all(set(order[at : at + 2]) == {"A", "B"} for at in range(0, 40, 2))
    assert 3 < firsts.count("A") < 17
    assert len({Path(path).parent for _, path in ran}) == 40
    assert shown == [(done, 40, name) for done, name in enumerate(order)]


def test_no_round_begins_that_would_end_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second at each look: a round takes two, and the third one would take six."""
    clock = count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(Rounds, "one", lambda *_: Ran(variant=0, path="", value=RunValue(steps=1)))
    made = Rounds(VARIANTS[:1], str(tmp_path), progress=lambda *_: None, time_s=5, whole=9)
    assert len(list(made.rounds(9, ()))) == 2
    assert made.is_late
