"""`perfprobe advise` on the command line: what is refused, and a program that runs in copies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.cli import main
from tests.snapshots import Snapshot

# It has no torch, so that it is quick: nothing can be put on it.
PROGRAM = """
import os, sys
print("loss", 0.25, os.path.exists("made.txt"))
open("made.txt", "a").write("1\\n")
open("data/read.txt", "a").write("2\\n")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "mine"
    (top / "data").mkdir(parents=True)
    (top / "data/read.txt").write_text("1\n")
    (top / "train.py").write_text(PROGRAM)
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(top)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return top


def advised(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "perfprobe", "advise", *words]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_what_cannot_be_run_is_refused(
    here: Path, capfd: pytest.CaptureFixture[str], snapshot: Snapshot
) -> None:
    (here / "away").symlink_to("/usr")
    cases = (
        ("--yes",),
        ("--yes", "-"),
        ("--try", "fusd", "train.py"),
        ("--try", "fused+foreach", "train.py"),
        ("--fail-on", "step>3%", "train.py"),
        ("--yes", "train.py"),
        ("--link", "nothing", "train.py"),
    )
    said = []
    for words in cases:
        assert main(["advise", *words]) in (2, 3), words
        said.append(capfd.readouterr().err)
    snapshot("".join(said).replace(str(here.parent), "FOLDER"))


def test_nothing_runs_unasked() -> None:
    ran = advised("--try", "fused", "train.py")
    assert ran.returncode == 2
    assert "--yes" in ran.stderr
    assert not os.path.exists("made.txt")


def test_a_program_runs_in_copies_and_leaves_nothing(here: Path) -> None:
    ran = advised("--yes", "--json", "--try", "fused", str(here / "train.py"))
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["meta"]["itself"].startswith("repeats itself: 1 ")
    assert (found["meta"]["runs"], found["meta"]["by_steps"]) == (4, False)
    assert [row["outcome"] for row in found["tables"]["tries"]] == ["not tried"]
    assert sorted(os.listdir()) == ["data", "train.py"]
    assert Path("data/read.txt").read_text() == "1\n"
    assert os.listdir(here.parent / "temporary") == []


def test_a_program_that_fails_or_reads_input_is_said_in_a_line(here: Path) -> None:
    for source, what in (("input()", "reads input"), ("raise SystemExit(7)", "exit code 7")):
        (here / "train.py").write_text(source)
        ran = advised("--yes", "--try", "fused", "train.py")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (3, 1)
        assert what in ran.stderr
    assert os.listdir(here.parent / "temporary") == []
