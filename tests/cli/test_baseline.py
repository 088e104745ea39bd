"""`--baseline 5`: five untraced steps among traced ones, in a recording and in its report."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from tests.cli.test_windows import PROGRAM, record, rows, together, whole
from tests.collect.runs import command

__all__ = ["whole"]  # a fixture
Rows = list[tuple[str, str]]
UNTRACED = [3, 5, 7]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recording]:
    folder = tmp_path_factory.mktemp("baseline")
    words = ("--baseline", "3", "--warmup", "3", "--python", "off")
    return folder, record(folder, *words)[1]


@pytest.fixture(scope="module")
def document(recorded: tuple[Path, Recording]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(["report", "--json", "run.perfprobe"], recorded[0]).out)
    return found


def test_every_second_step_after_the_warm_up_is_untraced(
    recorded: tuple[Path, Recording], whole: list[Rows]
) -> None:
    folder, recording = recorded
    steps = recording[LiveSteps]
    assert steps.number[steps.is_baseline > 0].tolist() == UNTRACED
    assert steps.number[steps.is_recorded == 0].tolist() == UNTRACED
    traced = [step for number, step in enumerate(whole) if number not in UNTRACED]
    found = rows(folder)
    first = next(at for at, (name, _) in enumerate(found) if name.startswith("enumerate(DataLoader)"))
    assert found[first:] == together(traced)


def test_untraced_steps_are_rows_of_their_own_between_the_traced_ones(document: dict[str, Any]) -> None:
    steps = document["tables"]["steps"]
    assert [row["mark"] == "baseline" for row in steps] == [number in UNTRACED for number in range(10)]
    assert all(not row["phases"] for row in steps if row["mark"] == "baseline")
    for before, behind in itertools.pairwise(steps):
        assert before["end_ns"] <= behind["start_ns"] < behind["end_ns"]


def test_the_added_time_equals_that_of_pairs_counted_by_hand(
    document: dict[str, Any], recorded: tuple[Path, Recording]
) -> None:
    steps = recorded[1][LiveSteps]
    took = (steps.end_ns - steps.start_ns).tolist()
    added = sorted((took[at - 1] + took[at + 1]) / 2 / took[at] - 1 for at in UNTRACED)
    (row,) = document["tables"]["baseline"]
    assert row["pairs"] == 3
    assert row["added"] == pytest.approx(added[1])
    assert row["untraced_ns"] == sorted(took[at] for at in UNTRACED)[1]
    assert row["added_low"] is None  # three values have no 95 % interval
    trust = next(row["text"] for row in document["tables"]["first_screen"] if row["label"] == "TRUST")
    assert trust.startswith("untraced step ")
    assert "measured" in trust


def test_too_few_steps_are_a_loss(tmp_path: Path) -> None:
    record(tmp_path, "--baseline", "3", "--warmup", "8", "--python", "off", source=PROGRAM)
    recording = storage.read(tmp_path / "run.perfprobe")
    losses = recording[Losses]
    counts = dict(zip(losses.reason.tolist(), losses.count.tolist(), strict=True))
    assert counts["untraced steps of --baseline: missing, the program had only 10 steps"] == 2


def test_steps_that_the_program_marks_are_counted_once(tmp_path: Path) -> None:
    """Marks are seen in steps without operators too."""
    source = PROGRAM.replace(
        "            optimizer.step()\n", "            optimizer.step()\n        perfprobe.step()\n"
    )
    record(tmp_path, "--baseline", "3", "--warmup", "3", "--python", "off", source=source)
    tables = Results(str(tmp_path / "run.perfprobe")).document(View())["tables"]
    (loop,) = tables["loops"]
    assert loop["steps"] == len(tables["steps"]) <= 10
    assert sum(row["mark"] == "baseline" for row in tables["steps"]) == 3
