"""The rules and their order, for accounts made by hand: what triggers each, and what nearly does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from perfprobe.diagnose.diagnose import diagnosed
from perfprobe.merge import link
from perfprobe.tables.account import Account, LeafKind, Leaves
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis, Short
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recomputed
from perfprobe.tables.steps import StepPhase
from tests.build import Program
from tests.found import find
from tests.report.test_text import META

STEPS = 10
# Lines of one function and of a function in it. All others are each in a function of their own.
FUNCTIONS = {11: "Tokenizer.split", 12: "Tokenizer.split", 13: "Tokenizer.split.<locals>.<genexpr>"}
Part = tuple[LeafKind, StepPhase, int, int]  # kind, phase, frame, percent of the time


def judged(
    tmp_path: Path, parts: Sequence[Part], *, waited: int = 0, error: int = 0, **meta: Any
) -> Diagnoses:
    """What is said of an account with these parts."""
    return findings_of(tmp_path, parts, waited=waited, error=error, **meta)[Diagnoses]


def findings_of(
    tmp_path: Path, parts: Sequence[Part], *, waited: int = 0, error: int = 0, **meta: Any
) -> Findings:
    """The same with all judgements; what is left to 100 is of lines of 1 percent."""
    program = Program(**META | meta)
    frames = [program.stack(f"/p/train.py:{line} {FUNCTIONS.get(line, f'f{line}')}") for line in range(100)]
    left = 100 - sum(part[3] for part in parts) - waited
    rows = [*parts, *((LeafKind.LINE, StepPhase.OTHER, frames[-1 - each], 1) for each in range(left))]
    if waited:
        rows.append((LeafKind.PROCESSOR, StepPhase.OTHER, -1, waited))
    kinds, phases, of_frames, percents = (np.array(column) for column in zip(*rows, strict=True))
    time_ns = percents.astype(np.int64) * 10_000
    none = np.zeros(len(rows), np.int64)
    leaves = Leaves(
        kind=kinds.astype(np.int8),
        phase=phases.astype(np.int8),
        frame=of_frames.astype(np.int32),
        module=np.full(len(rows), -1, np.int32),
        time_ns=time_ns,
        operators_ns=none,
        waited_ns=none,
        error_ns=np.where(np.arange(len(rows)) < len(parts), error * 10_000, 0),
        steps=none + STEPS,
    )
    account = Account(leaves, STEPS, int(time_ns.sum()), waited * 10_000 if waited else None)
    return diagnosed(find(link(program.recording(tmp_path))).plus(account))


def line(percent: int, frame: int = 1, phase: StepPhase = StepPhase.FORWARD) -> Part:
    return LeafKind.LINE, phase, frame, percent


def data(percent: int, frame: int = -1) -> Part:
    return LeafKind.DATA, StepPhase.DATA, frame, percent


@pytest.mark.parametrize(
    ("parts", "cause", "share"),
    [
        ([line(20)], Cause.LINE, 0.2),
        ([line(19)], None, 0),
        ([data(20)], Cause.DATA, 0.2),
        ([data(19), line(19)], None, 0),
        ([data(25), line(60)], Cause.DATA, 0.25),  # a wait comes before work
        ([data(19), line(60)], Cause.LINE, 0.6),
        ([data(25, frame=5), line(60)], Cause.LINE, 0.6),  # made by the loop itself, it is work as well,
        ([data(45, frame=5), line(50)], Cause.DATA, 0.45),  # of which workers take all
        ([data(22), (LeafKind.COLLECTION, StepPhase.COLLECTION, -1, 30)], Cause.COLLECTION, 0.3),
        ([(LeafKind.COLLECTION, StepPhase.COLLECTION, -1, 30), line(56)], Cause.LINE, 0.56),
        ([(LeafKind.COLLECTION, StepPhase.COLLECTION, -1, 50), line(40)], Cause.COLLECTION, 0.5),
        ([(LeafKind.COMPILE, StepPhase.COMPILE, -1, 40), line(50)], Cause.COMPILE, 0.4),
        ([(LeafKind.RANKS, StepPhase.BACKWARD, 3, 30), line(60)], Cause.RANKS, 0.3),
        ([(LeafKind.LOCK, StepPhase.OTHER, 3, 20), data(21), line(50)], Cause.DATA, 0.21),
        ([(LeafKind.LOCK, StepPhase.OTHER, 3, 22), data(21), line(50)], Cause.LOCK, 0.22),
        ([(LeafKind.GPU, StepPhase.OTHER, 3, 20), line(70)], Cause.GPU, 0.2),
        ([(LeafKind.GPU, StepPhase.OTHER, 3, 19), line(70)], Cause.LINE, 0.7),
        ([(LeafKind.UNEXPLAINED, StepPhase.OTHER, -1, 60), line(30)], Cause.LINE, 0.3),
        ([(LeafKind.UNEXPLAINED, StepPhase.OTHER, -1, 60), line(10)], Cause.UNEXPLAINED, 0.6),
        # All phases of a line are one.
        ([line(12), line(12, phase=StepPhase.BACKWARD), line(21, frame=2)], Cause.LINE, 0.24),
    ],
)
def test_slow_is_the_largest_wait_or_else_the_largest_line(
    parts: Sequence[Part], cause: Cause | None, share: float, tmp_path: Path
) -> None:
    slow = judged(tmp_path, parts).slow
    if cause is None:
        assert slow is None
    else:
        assert slow is not None
        assert slow.cause is cause
        assert slow.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("percents", "stands_out"),
    [([8, 7, 9], True), ([6, 6, 7], False), ([18, 17, 16], False), ([5, 21, 5], False)],
    ids=["together", "too little", "nearly all of a step", "one line stands out"],
)
def test_lines_of_a_function_are_a_bottleneck_together(
    percents: list[int], stands_out: bool, tmp_path: Path
) -> None:
    parts = [line(percent, frame=frame) for frame, percent in zip(FUNCTIONS, percents, strict=True)]
    found = judged(tmp_path, parts)
    of_function = found.of(Cause.FUNCTION)
    assert bool(of_function) is stands_out
    if of_function:
        (slow,) = of_function
        assert slow is found.slow
        assert slow.share == pytest.approx(0.24)
        assert (slow.frame, slow.lines) == (13, (11, 13))
        assert all(each.frame not in FUNCTIONS for each in found.of(Cause.LINE))


def test_shares_are_of_the_time_without_waiting_for_a_processor(tmp_path: Path) -> None:
    """16 of 100 are less than 20 %. Of the 64 in which the thread did not wait they are 25 %."""
    assert judged(tmp_path, [line(16)]).slow is None
    slow = judged(tmp_path, [line(16)], waited=36).slow
    assert slow is not None
    assert slow.share == pytest.approx(0.25)


@pytest.mark.parametrize(("error", "is_close"), [(0, False), (2, False), (4, True)])
def test_a_second_within_the_error_may_be_the_first(error: int, is_close: bool, tmp_path: Path) -> None:
    found = judged(tmp_path, [line(40), line(34, frame=2)], error=error)
    assert found.second is not None
    assert found.second.share == pytest.approx(0.34)
    assert found.is_close is is_close


def test_the_bottleneck_and_what_comes_next_are_parts_of_one_whole(tmp_path: Path) -> None:
    found = judged(tmp_path, [data(30), line(55), line(10, frame=2)])
    assert found.slow is not None
    assert found.second is not None
    assert found.slow.share + found.second.share <= 1


def test_the_error_of_a_share_is_that_of_samples() -> None:
    """Compared with shares of which each is that of 200 samples drawn at random."""
    shares, samples = np.array([0.6, 0.25, 0.15]), 200
    deviation = np.random.default_rng(1).multinomial(samples, shares, 20_000).std(axis=0) / samples
    for part, seen in zip(account(shares, deviation).lines(), deviation, strict=True):
        error = account(shares, deviation).error(part)
        assert error == pytest.approx(2 * seen, rel=1e-6)


def test_a_part_that_is_all_of_the_time_has_no_error() -> None:
    whole = account(np.array([1.0]), np.array([0.5]))
    assert whole.error(whole.lines()[0]) == 0


def test_a_part_that_was_measured_has_no_error() -> None:
    measured, *_ = account(np.array([0.5, 0.3, 0.2]), np.array([0, 0.1, 0.1])).lines()
    assert account(np.array([0.5, 0.3, 0.2]), np.array([0, 0.1, 0.1])).error(measured) == 0


def account(shares: npt.NDArray[np.float64], deviation: npt.NDArray[np.float64]) -> Account:
    """Lines with these shares of 1 s, and their standard deviations."""
    of_lines = Leaves.empty().columns() | {
        "kind": np.full(len(shares), LeafKind.LINE, np.int8),
        "frame": np.arange(len(shares), dtype=np.int32),
        "time_ns": (shares * 1e9).astype(np.int64),
        "error_ns": (2 * deviation * 1e9).astype(np.int64),
    }
    none = {name: np.zeros(len(shares), of_lines[name].dtype) for name in of_lines if not len(of_lines[name])}
    return Account(Leaves(**of_lines | none), STEPS, 1_000_000_000, None)


def test_a_line_of_short_operators_does_not_come_next() -> None:
    short = Diagnosis(
        cause=Cause.SHORT_OPERATORS,
        time_ns=1,
        share=0.5,
        frame=3,
        phases={},
        stands_out=True,
        short=Short(9, 0.1),
    )
    line, other = (
        Diagnosis(cause=Cause.LINE, time_ns=1, share=share, frame=frame, phases={})
        for share, frame in ((0.4, 3), (0.1, 4))
    )
    assert Diagnoses((short, line, other), STEPS).second is other


@pytest.mark.parametrize(("percent", "gain"), [(50, 2.0), (80, 5.0), (100, None)])
def test_the_gain_is_that_of_amdahl(percent: int, gain: float | None, tmp_path: Path) -> None:
    slow = judged(tmp_path, [line(percent)]).slow
    assert slow is not None
    assert slow.gain == (None if gain is None else pytest.approx(gain))


def crowded(threads: int, waited_ns: int) -> dict[str, Any]:
    """Facts of a program with so many threads on two cores, and 1 s of CPU time."""
    return {
        "torch": {"threads": threads},
        "host": {"cores": 2},
        "processors": {"waited_ns": waited_ns, "main_waited_ns": waited_ns},
        "start": {"cpu_ns": 0, "monotonic_ns": 0},
        "stop": {"cpu_ns": 1_000_000_000, "monotonic_ns": 1_000_000_000},
    }


@pytest.mark.parametrize(
    ("threads", "waited_ns", "cause"),
    [(8, 600_000_000, Cause.THREADS), (8, 400_000_000, Cause.LINE), (2, 600_000_000, Cause.LINE)],
)
def test_more_threads_than_cores_are_a_bottleneck_if_they_waited(
    threads: int, waited_ns: int, cause: Cause, tmp_path: Path
) -> None:
    slow = judged(tmp_path, [line(60)], **crowded(threads, waited_ns)).slow
    assert slow is not None
    assert slow.cause is cause


@pytest.mark.parametrize(("percents", "share"), [((6, 3), None), ((6, 5), 0.11)])
def test_forward_that_backward_computes_again(
    percents: tuple[int, int], share: float | None, tmp_path: Path
) -> None:
    parts = [line(each, at, StepPhase.RECOMPUTE) for at, each in enumerate(percents, 11)]
    found = findings_of(tmp_path, [*parts, line(30, 11, StepPhase.BACKWARD)]).get(Recomputed)
    assert found == (None if share is None else Recomputed(11, share))
