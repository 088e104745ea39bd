"""`--budget 8%`: a program of small operators, whose steps are recorded at random or only timed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfprobe.collect.options import Options
from perfprobe.support.errors import UsageError
from perfprobe.support.fraction import share
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.cli.test_windows import record
from tests.collect.runs import command

ADDITIONS, STEPS, FIRST = 2_000, 150, 30
BUDGET = "8%"  # recording all costs four times as much
# After the loop comes what takes longer than the pause behind which everything is recorded again.
PROGRAM = f"""
import time
import torch

weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], 0.1)
ones = torch.ones(1)
for number in range({STEPS}):
    for _ in range({ADDITIONS}):
        ones.add(1)
    (weight * 2).sum().backward()
    optimizer.step()
time.sleep(2)
ones.cos()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recording]:
    folder = tmp_path_factory.mktemp("budget")
    return folder, record(folder, "--budget", BUDGET, "--python", "sample", source=PROGRAM)[1]


@pytest.fixture(scope="module")
def document(recorded: tuple[Path, Recording]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(["report", "--json", "run.perfprobe"], recorded[0]).out)
    return found


def times_of(recording: Recording, name: str) -> list[int]:
    texts = recording[Strings]
    return [
        int(start_ns)
        for batch in recording.operators(("start_ns", "name"))
        for start_ns, each in zip(batch.start_ns, batch.name, strict=True)
        if texts[int(each)] == name
    ]


def test_a_step_is_recorded_whole_or_only_timed(recorded: tuple[Path, Recording]) -> None:
    steps = recorded[1][LiveSteps]
    assert len(steps) == STEPS - 1  # the start of the first one is not known
    assert ((steps.is_recorded > 0) ^ (steps.is_baseline > 0)).all()
    added = np.array(times_of(recorded[1], "aten::add"))
    inside = (added[:, None] >= steps.start_ns) & (added[:, None] < steps.end_ns)
    assert (inside.sum(axis=0) == np.where(steps.is_recorded > 0, ADDITIONS, 0)).all()


def test_the_first_steps_are_recorded_and_most_others_are_not(recorded: tuple[Path, Recording]) -> None:
    steps = recorded[1][LiveSteps]
    assert steps.is_recorded[: FIRST - 1].all()
    assert steps.is_baseline[FIRST:].sum() > (STEPS - FIRST) // 2


def test_what_follows_the_loop_is_recorded(recorded: tuple[Path, Recording]) -> None:
    assert len(times_of(recorded[1], "aten::cos")) == 1


def test_steps_that_were_only_timed_are_a_loss_and_have_their_times(
    recorded: tuple[Path, Recording], document: dict[str, Any]
) -> None:
    steps, losses = recorded[1][LiveSteps], recorded[1][Losses]
    counts = dict(zip(losses.reason.tolist(), losses.count.tolist(), strict=True))
    timed = int(steps.is_baseline.sum())
    reason = f"operators in steps that were only timed, as recording all would cost more than {BUDGET}"
    assert counts[reason] == timed
    rows = document["tables"]["steps"]
    marked = [(row["start_ns"], row["end_ns"]) for row in rows if row["mark"] == "baseline"]
    assert all(before["end_ns"] <= behind["start_ns"] for before, behind in itertools.pairwise(rows))
    left_out = steps.take(steps.is_baseline > 0)
    assert marked == list(zip(left_out.start_ns.tolist(), left_out.end_ns.tolist(), strict=True))


def test_trust_says_what_part_is_recorded_and_what_that_adds(
    recorded: tuple[Path, Recording], document: dict[str, Any]
) -> None:
    steps = recorded[1][LiveSteps]
    (row,) = document["tables"]["baseline"]
    assert row["detailed"] == pytest.approx(steps.is_recorded.mean())
    trust = next(row["text"] for row in document["tables"]["first_screen"] if row["label"] == "TRUST")
    assert trust.startswith("recording +")
    assert f"1 step in {round(1 / steps.is_recorded.mean())} " in trust


def test_everything_is_recorded_below_the_budget(tmp_path: Path) -> None:
    source = PROGRAM.replace("ones.add(1)", "pass").replace(f"range({STEPS})", "range(60)")
    steps = record(tmp_path, "--budget", "90%", source=source)[1][LiveSteps]
    assert steps.is_recorded.all()


@pytest.mark.parametrize(("text", "part"), [("5%", 0.05), ("0.5%", 0.005), ("100 %", 1), ("off", 0)])
def test_a_budget_is_a_part_of_the_time(text: str, part: float) -> None:
    assert share(text) == part
    assert Options(budget=text).most_cost == part


@pytest.mark.parametrize("text", ["5", "0%", "101%", "-1%", "5 percent", "%", "1e1%", "nan%", "٣%"])
def test_other_words_are_no_budget(text: str) -> None:
    with pytest.raises(UsageError, match="not a budget"):
        Options(budget=text)


@pytest.mark.parametrize(
    "given",
    [{"keep": "slow"}, {"memory": True}, {"emit": "nvtx"}, {"detail": "bench"}, {"operators": "off"}],
)
def test_options_that_need_all_operators_switch_it_off(given: dict[str, Any]) -> None:
    assert Options(budget="5%", **given).most_cost == 0


def test_evaluations_that_were_only_timed_have_their_times_and_no_phases(tmp_path: Path) -> None:
    """Most training steps are left out, and with them the evaluations that follow each of them."""
    source = PROGRAM.replace(
        "    optimizer.step()\n",
        "    optimizer.step()\n    with torch.no_grad():\n        for batch in DataLoader(range(3)):\n"
        "            model(batch.float())\n",
    ).replace("for number in range(150)", "for number in DataLoader(range(150))")
    source = source.replace("import torch\n", "import torch\nfrom torch.utils.data import DataLoader\n")
    source = source.replace("ones = ", "model = torch.nn.Linear(1, 1)\nones = ", 1)
    _, recording = record(tmp_path, "--budget", "1%", "--python", "off", source=source)
    live = recording[LiveSteps]
    timed = live.take((live.is_evaluation > 0) & (live.is_baseline > 0))
    assert len(timed) > 0
    ran = command(["report", "--json", "run.perfprobe"], tmp_path)
    steps = json.loads(ran.out)["tables"]["steps"]
    found = [row for row in steps if row["kind"] == "evaluation" and row["mark"] == "baseline"]
    assert [row["start_ns"] for row in found] == timed.start_ns.tolist()
    assert not any(row["phases"] for row in found)
