"""`--keep slow`: planted slow steps, their causes, a killed program, and files that rotate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe import _core
from perfprobe.collect.options import Options
from perfprobe.report.rows.named import OF_CAUSES, is_named
from perfprobe.support.errors import UsageError
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.kept import Fate, OperatorSums, StepSums
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect import recorded as recorded_rows
from tests.collect.runs import command
from tests.eager import WHOLE_TORCH
from tests.snapshots import Snapshot

SLEEPY, HEAVY, READING = 80, 110, 140  # steps
ADDITIONS = 100_000  # in one step, more than a buffer of 4 MiB holds
PLANTED = {
    SLEEPY: "time.sleep(0.2)  # planted",
    HEAVY: "heavy(big)  # planted",
    READING: "for batch in loader",
}
PROGRAM = f"""
import time
import torch
from torch.utils.data import DataLoader

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 160
    def __getitem__(self, at):
        time.sleep(0.2 if at == {READING} else 0)
        return torch.ones(4, 4) * at

def heavy(x):
    for _ in range({ADDITIONS}):
        x = x + 1

if __name__ == "__main__":
    torch.set_num_threads(1)
    weight, big = torch.nn.Parameter(torch.ones(4, 4)), torch.ones(4)
    optimizer = torch.optim.SGD([weight], 0.1)
    loader = enumerate(DataLoader(Numbers(), batch_size=None))
    for number, batch in loader:
        time.sleep(0.01)
        if number == {SLEEPY}:
            time.sleep(0.2)  # planted
        if number == {HEAVY}:
            heavy(big)  # planted
        batch.mm(weight).sum().backward()
        optimizer.step()
"""
SHORT = """
import os, signal, time
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.ones(4, 4))
    optimizer = torch.optim.SGD([weight], 0.1)
    begun = time.monotonic()
    for number, batch in enumerate(DataLoader(torch.ones(1_000_000, 4, 4), batch_size=None)):
        batch.mm(weight).sum().backward()
        optimizer.step()
        if time.monotonic() > begun + 3.2:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def record(folder: Path, source: str, *options: str, **variables: str) -> Recording:
    (folder / "train.py").write_text(source)
    words = ["-m", "perfprobe", "run", "-q", "-o", "run.perfprobe", *options, "train.py"]
    subprocess.run(
        [sys.executable, *words], cwd=folder, env=os.environ | variables, capture_output=True, check=False
    )
    return storage.read(folder / "run.perfprobe")


def report(folder: Path, *words: str) -> str:
    outcome = command(["report", *words], folder)
    assert outcome.status == 0, outcome
    return outcome.out.decode()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recording]:
    folder = tmp_path_factory.mktemp("planted")
    # Its optimizer imports torch._dynamo, as a user's does.
    return folder, record(folder, PROGRAM, "--keep", "slow", "--buffer", "4M", **WHOLE_TORCH)


@pytest.fixture(scope="module")
def document(planted: tuple[Path, Recording]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(planted[0], "--json", "run.perfprobe"))
    return found


def slow_by_hand(times_ns: list[int]) -> list[bool]:
    """Whether each is longer than the 95th percentile of the last 200, and than 1.2 times their median."""
    found = []
    for at, time_ns in enumerate(times_ns):
        before = sorted(times_ns[max(at - 200, 0) : at])
        found.append(len(before) >= 20 and time_ns > 1.2 * rank(before, 0.5) and time_ns > rank(before, 0.95))
    return found


def rank(ordered: list[int], share: float) -> int:
    return ordered[int(np.ceil(len(ordered) * share)) - 1]


def test_slow_steps_agree_with_a_simple_implementation() -> None:
    random = np.random.default_rng(3)
    times_ns = (1_000_000 * random.lognormal(0, 0.2, 1_000)).astype(int).tolist()
    assert _core.slow_steps(times_ns) == slow_by_hand(times_ns)
    assert 10 < sum(_core.slow_steps(times_ns)) < 100


def test_exactly_the_slow_steps_are_kept_with_all_their_operators(planted: tuple[Path, Recording]) -> None:
    folder, recording = planted
    steps = recording[LiveSteps]
    took = (steps.end_ns - steps.start_ns).tolist()
    slow = [int(number) for number in steps.number[steps.is_slow > 0]]
    assert slow == [at for at, is_slow in enumerate(slow_by_hand(took)) if is_slow]
    assert set(PLANTED) <= set(slow)  # on a busy machine others may really be slow
    assert steps.is_recorded.tolist() == steps.is_slow.tolist()
    names = Counter(row.name for row in recorded_rows.rows(folder / "run.perfprobe"))
    assert names["aten::mul"] == len(slow) - 1  # one in each; that of HEAVY is in the part that is not kept


def test_every_operator_is_in_the_sums(planted: tuple[Path, Recording]) -> None:
    recording = planted[1]
    sums, strings, slow = recording[OperatorSums], recording[Strings], int(recording[LiveSteps].is_slow.sum())
    calls: Counter[tuple[str, int]] = Counter()
    for name, fate, count in zip(sums.name.tolist(), sums.fate.tolist(), sums.calls.tolist(), strict=True):
        calls[strings[name], fate] += count
    assert calls["aten::mul", Fate.SLOW] == slow - 1
    assert calls["aten::mul", Fate.BEYOND] == 1
    assert calls["aten::mul", Fate.ORDINARY] == 160 - slow
    bins = [name for name in OperatorSums.dtypes if name.startswith("below_") or name == "longer"]
    assert (sum(getattr(sums, name) for name in bins) == sums.calls).all()
    assert (sums.self_ns <= sums.total_ns).all()
    assert int(recording[StepSums].steps.sum()) == 160


def test_a_step_larger_than_the_buffer_is_kept_in_part(planted: tuple[Path, Recording]) -> None:
    folder, recording = planted
    steps, sums, strings = recording[LiveSteps], recording[OperatorSums], recording[Strings]
    assert steps.number[steps.is_partial > 0].tolist() == [HEAVY]
    names = Counter(row.name for row in recorded_rows.rows(folder / "run.perfprobe"))
    assert 0 < names["aten::add"] < ADDITIONS
    own = [strings[name] == "aten::add" for name in sums.name.tolist()]
    assert int(sums.calls[own].sum()) == ADDITIONS
    losses = zip(recording[Losses].reason.tolist(), recording[Losses].count.tolist(), strict=True)
    assert [count for reason, count in losses if "larger than" in reason] == [1]


def test_each_slow_step_has_its_line_and_its_cause(
    document: dict[str, Any], planted: tuple[Path, Recording]
) -> None:
    lines = (planted[0] / "train.py").read_text().splitlines()
    rows = {row["step"]: row for row in document["tables"]["slow_steps"]}
    for step, text in PLANTED.items():
        row = rows[step]
        assert row["more_ns"] > 50e6
        shown = lines[row["line"] - 1]
        assert text in shown or (step == HEAVY and "x + 1" in shown) or (step == READING and "at ==" in shown)
        causes = dict(row["causes"])
        expected = {SLEEPY: "blocked", HEAVY: "running", READING: "waiting for data"}[step]
        own_ns = row["more_ns"] - causes.get("waiting for a processor", 0)  # on a busy machine
        is_small = not is_named(own_ns // 2, row["more_ns"], OF_CAUSES)
        assert is_small or causes[expected] > 0.5 * own_ns, (step, causes)


def test_the_report_of_a_kept_run_names_the_planted_lines(planted: tuple[Path, Recording]) -> None:
    text = report(planted[0], "run.perfprobe")
    assert text.startswith("Slow steps")
    assert "of 160 steps" in text
    assert "Recording cost" in text


def test_the_files_of_a_killed_run_are_readable_and_continue_each_other(tmp_path: Path) -> None:
    record(tmp_path, SHORT, "--keep", "slow", "--rotate", "100K")
    paths = sorted(tmp_path.glob("run*.perfprobe"))
    parts = [storage.read(path) for path in paths]
    assert len(parts) > 1
    steps = np.concatenate([part[LiveSteps].number for part in parts])
    ends_ns = np.concatenate([part[LiveSteps].end_ns for part in parts])
    assert sorted(steps.tolist()) == list(range(len(steps)))
    assert not [part for part in parts if part.stopped_at]
    for part in parts:  # each file has all names
        assert all(0 <= name < len(part[Strings]) for name in part[OperatorSums].name.tolist())
    listed = sum(int(part[StepSums].steps.sum()) for part in parts)
    # Sums are written every second, at a heartbeat.
    written = int(np.count_nonzero(ends_ns < ends_ns.max() - 2.5e9))
    assert 0 < written <= listed <= len(steps) + 5_000
    text = report(tmp_path, ".")
    assert f"of {listed:,} steps" in text
    assert f"Incomplete: run.{len(parts)}.perfprobe: " in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keep": "fast"}, "there is no choice of steps"),
        ({"keep": "slow", "steps": "1:2"}, "needs all steps"),
        ({"keep": "slow", "operators": "autograd"}, "only the observer"),
        ({"keep": "slow", "wait": True}, "with --wait"),
        ({"rotate": 1000}, "too small"),
        (
            {"keep": "slow", "memory": True},
            "^--memory cannot be recorded with --keep slow: it needs the rows of all steps, and only those "
            "of slow steps are kept; leave out --memory, or --keep slow$",
        ),
        (
            {"rotate": 1 << 20, "memory": True, "counters": True},
            "^--memory and --counters cannot be recorded with --rotate: they need all rows in one file",
        ),
    ],
)
def test_contradicting_options_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Options(**given)


def test_what_is_not_recorded_is_a_loss(planted: tuple[Path, Recording], snapshot: Snapshot) -> None:
    snapshot("\n".join(sorted(reason for reason in planted[1][Losses].reason if "--keep" in reason)))
