"""Recordings are read where perfprobe's C++ extension cannot be used: the same to the byte, only slower."""

from __future__ import annotations

import json
import marshal
import os
import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.collect.runs import Outcome, command, finish, perfprobe, start

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import multiprocessing, torch, perfprobe

def work(x):
    with perfprobe.range("part"):
        return torch.nn.functional.gelu(x @ x)

if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(30):
        optimizer.zero_grad()
        model(work(torch.ones(8, 8))).sum().backward()
        optimizer.step()
    child = multiprocessing.get_context("spawn").Process(target=work, args=(torch.ones(2, 2),))
    child.start(); child.join()
"""

COMMANDS = (
    *(
        ["report"],
        ["report", "--full"],
        ["report", "--json"],
        ["report", "--brief"],
        ["report", "--view", "children"],
    ),
    *(["report", "--calls", "gelu"], ["list"], ["list", "--json"], ["graph", "-o", "OUT.dot"]),
    *(["export", "--format", form, "-o", "OUT"] for form in ("chrome", "speedscope", "collapsed", "pstats")),
)


Given = tuple[str, list[str]]  # the width of the terminal, and words
GIVEN: list[Given] = [
    (columns, words)
    for words in COMMANDS
    for columns in (("80", "200") if words[0] in ("report", "list") else ("80",))
]


def hidden(folder: Path, words: Sequence[str] = (), given: bytes = b"") -> Outcome:
    return finish(start(["-m", "tests.cli.without_core", str(folder), *words], ROOT), given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording of all sources."""
    made = tmp_path_factory.mktemp("recorded")
    (made / "train.py").write_text(PROGRAM)
    outcome = perfprobe(["-q", "--memory", "--native", "--cpu-time", "train.py"], made)
    assert outcome.status == 0, outcome.err
    return made


def content(file: Path) -> object:
    data = file.read_bytes()
    try:
        return marshal.loads(data)  # pstats: which objects are marked as shared differs from run to run
    except (EOFError, ValueError, TypeError):
        return data


def to(folder: Path, at: int) -> list[str]:
    """The words of a command, which writes to this folder."""
    return [word.replace("OUT", str(folder / f"{at}")) for word in GIVEN[at][1]]


@dataclass(frozen=True)
class Hidden:
    """What all commands printed, in one process, and where they wrote."""

    outcomes: list[Outcome]
    written: Path


@pytest.fixture(scope="module")
def without(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Hidden:
    written = tmp_path_factory.mktemp("without")
    asked = [(columns, to(written, at)) for at, (columns, _) in enumerate(GIVEN)]
    outcome = hidden(folder, given=json.dumps(asked).encode())
    assert outcome.status == 0, outcome.err
    return Hidden(pickle.loads(outcome.out), written)


@pytest.mark.parametrize(
    "at", range(len(GIVEN)), ids=[" ".join([*words, columns]) for columns, words in GIVEN]
)
def test_the_same_is_printed_and_written(
    at: int, folder: Path, without: Hidden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", GIVEN[at][0])
    found: list[tuple[bytes, bytes, list[str], list[object]]] = []
    for outcome, into in (
        (command(to(tmp_path, at), folder), tmp_path),
        (without.outcomes[at], without.written),
    ):
        assert outcome.status == 0, outcome
        said = [line.replace(str(into), "OUT") for line in outcome.said]
        text = outcome.out.replace(os.fsencode(into), b"OUT")
        written = [content(file) for file in sorted(into.iterdir()) if file.name.partition(".")[0] == f"{at}"]
        found.append((text, outcome.err, said, written))
    assert found[0] == found[1]
    assert len(found[0][0]) > 100 or found[0][3]


def test_recording_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('never')\n")
    outcome = hidden(tmp_path, ["train.py"])
    assert (outcome.status, outcome.out, outcome.err) == (4, b"", b"")
    (line,) = outcome.said
    assert re.match(r"perfprobe: nothing can be recorded: perfprobe\._core was not built", line)
    assert os.listdir(tmp_path) == ["train.py"]


def test_old_recordings_are_removed_too(folder: Path, tmp_path: Path) -> None:
    (recording,) = folder.glob(".perfprobe/*.perfprobe")
    (tmp_path / ".perfprobe").mkdir()
    (tmp_path / ".perfprobe/a.perfprobe").write_bytes(recording.read_bytes())
    outcome = hidden(tmp_path, ["clean", "--keep", "0"])
    assert outcome.out.startswith(b"removed a.perfprobe: 1 file, ")
    assert os.listdir(tmp_path / ".perfprobe") == []


@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["list"]], ids=" ".join)
def test_reading_needs_nothing_that_only_unix_has(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    reader = str(Path(__file__).with_name("as_on_windows.py"))
    outcome = finish(start([reader, *words], folder))
    assert (outcome.status, outcome.out) == (0, command(words, folder).out)
