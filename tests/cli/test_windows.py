"""`--steps 3:6` and the like, against a recording of the whole program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.collect.options import Options
from perfprobe.results import Results
from perfprobe.support.errors import UsageError
from perfprobe.support.view import View
from perfprobe.tables import storage
from perfprobe.tables.events import Losses
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect import recorded

# Step n multiplies by a matrix of n + 1 columns: which step an operator is of can be read from its inputs.
PROGRAM = """
import torch
import perfprobe
from torch.utils.data import DataLoader

if __name__ == "__main__":
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], 0.1)
    for number in DataLoader(range(10), batch_size=None):
        with torch.profiler.record_function("all of it"), perfprobe.range(f"range {int(number)}"):
            (torch.ones(4, 4).mm(torch.ones(4, int(number) + 1)).sum() * weight).backward()
            optimizer.step()
    print("ended")
"""
Rows = list[tuple[str, str]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Rows]:
    """The rows of each step of the program, recorded from its beginning to its end."""
    folder = tmp_path_factory.mktemp("whole")
    record(folder)
    found: list[Rows] = []
    for name, signature in rows(folder):
        if name.startswith("enumerate(DataLoader)"):
            found.append([])
        if found:
            found[-1].append((name, signature))
    assert len(found) == 11  # the last time there is no batch
    return found


def record(folder: Path, *options: str, source: str = PROGRAM) -> tuple[str, Recording]:
    (folder / "train.py").write_text(source)
    words = ["-m", "perfprobe", "run", "-q", "-o", "run.perfprobe", *options, "train.py"]
    ran = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout, storage.read(folder / "run.perfprobe")


def rows(folder: Path) -> Rows:
    return [(row.name, row.signature) for row in recorded.rows(folder / "run.perfprobe")]


def together(steps: list[Rows]) -> Rows:
    return [row for step in steps for row in step]


def test_a_window_holds_exactly_the_operators_of_its_steps(tmp_path: Path, whole: list[Rows]) -> None:
    out, recording = record(tmp_path, "--steps", "3:6")
    assert rows(tmp_path) == together(whole[3:6])
    assert out == "ended\n"
    assert recording[LiveSteps].is_recorded.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    ranges = [recording[Strings][name] for name in recording[Ranges].name.tolist()]
    assert ranges == ["range 3", "range 4", "range 5"]
    losses = recording[Losses]
    assert losses.source.tolist() == ["steps", "steps"]  # the other steps; children and calls of functions
    assert losses.count.tolist() == [7, 1]


def test_of_chosen_steps_start_up_is_not_what_is_slow(tmp_path: Path) -> None:
    """Steps 3 to 13 as an article records them. Start-up takes longer than these; it ends with step 0."""
    source = "import time; time.sleep(1)\n" + PROGRAM.replace("range(10)", "range(20)")
    _, recording = record(tmp_path, "--steps", "3:14", "--exit-after", source=source)
    tables = Results(str(tmp_path / "run.perfprobe")).document(View())["tables"]
    assert [(row["kind"], row["steps"]) for row in tables["loops"]] == [("training", 11)]
    start_up_ns = sum(row["time_ns"] for row in tables["start_up"] if row["part"] != "warm_up")
    begun_ns = recording.fact("start", "monotonic_ns")
    assert start_up_ns == int(recording[LiveSteps].start_ns[0]) - begun_ns
    assert start_up_ns > sum(row["end_ns"] - row["start_ns"] for row in tables["steps"])
    (slow,) = (row["text"] for row in tables["first_screen"] if row["label"] == "SLOW")
    assert "first step" not in slow


def test_repeated_windows_have_the_same_number_of_steps_between_them(
    tmp_path: Path, whole: list[Rows]
) -> None:
    record(tmp_path, "--steps", "2:3", "--repeat", "3", "--memory")
    assert rows(tmp_path) == together([whole[2], whole[5], whole[8]])
    results = Results(str(tmp_path / "run.perfprobe"))
    assert "recorded ones" in results.text(View(view="memory"))
    assert " of what recorded steps allocated" in results.text(View())


def test_a_window_with_one_end(tmp_path: Path, whole: list[Rows]) -> None:
    (tmp_path / "late").mkdir()
    record(tmp_path / "late", "--steps", "8:")
    assert rows(tmp_path / "late") == together(whole[8:])
    _, recording = record(tmp_path, "--steps", ":2")
    assert recording[LiveSteps].is_recorded.tolist() == [1, 1, *[0] * 8]
    assert rows(tmp_path)[-len(together(whole[:2])) :] == together(whole[:2])


def test_the_program_ends_after_the_last_window(tmp_path: Path) -> None:
    source = PROGRAM.replace("optimizer.step()", "optimizer.step(); print(int(number), flush=True)")
    out, recording = record(tmp_path, "--steps", "1:3", "--exit-after", source=source)
    assert out.split()[:3] == ["0", "1", "2"]
    assert "ended" not in out
    assert recording.text("stop", "exit") == "exit 0"


def test_no_step_is_recorded_when_the_time_is_over(tmp_path: Path) -> None:
    source = PROGRAM.replace(
        "optimizer.step()", "optimizer.step(); __import__('time').sleep(0.25 * (number == 4))"
    )
    _, recording = record(tmp_path, "--steps", "3:", "--duration", "0.2s", source=source)
    taken = recording[LiveSteps].is_recorded.tolist()
    assert taken[:4] == [0, 0, 0, 1]
    assert taken[5:] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": "5"}, "not a window of steps"),
        ({"steps": "6:6"}, "not a window of steps"),
        ({"steps": "a:b"}, "not a window of steps"),
        ({"steps": "6:", "repeat": 2}, "without an end"),
        ({"exit_after": True}, "--exit-after needs a window"),
        ({"steps": "1:2", "operators": "both"}, "only the observer can record windows"),
        ({"steps": "1:2", "benchmark": True}, "only the observer can record windows"),
        ({"baseline": 2, "operators": "both"}, "only the observer"),
        ({"baseline": 2, "python": "cprofile"}, "cProfile cannot"),
        ({"baseline": 2, "wait": True}, "with --wait"),
    ],
)
def test_windows_that_make_no_sense(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Options(**given)
