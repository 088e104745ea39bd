"""Some of perfprobe's own calls fail, each once: the program's result is as under plain python."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.collect.shadowed import find_in
from tests.faults import commands
from tests.faults.commands import COMMANDS, KINDS
from tests.once import Once

# How many calls of which kinds fail, one in each run. `python -m tests.faults` tries all.
TRIED = {
    "run": (2, KINDS),
    "report": (1, ("open", "status", "perf")),
}


@pytest.fixture(scope="session")
def library(once: Once) -> Path:
    try:
        return once("faults", commands.build)
    except RuntimeError as missing:
        pytest.skip(f"the library that makes calls fail cannot be built: {missing}")


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_a_failed_call_changes_no_result(name: str, library: Path, tmp_path: Path) -> None:
    command = COMMANDS[name]
    if "import torch" in command.program or not command.program:
        pytest.importorskip("torch")
    commands.prepared(command, tmp_path)
    plain = commands.plain(command, tmp_path, library)
    calls = commands.run(command, tmp_path, library).calls
    assert sum(calls.values()) > 100, calls
    chosen = random.Random(33)
    most, kinds = TRIED[name]
    for kind in kinds:
        numbers = range(1, calls[kind] + 1)
        for number in {*numbers[:1], *chosen.sample(numbers, min(most, len(numbers)))}:
            ended = commands.run(command, tmp_path, library, f"{kind}:{number}")
            assert not commands.wrong(command, ended, plain, tmp_path), (kind, number, ended)


def test_the_program_imports_beside_a_folder_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(path: str) -> list[str]:
        raise OSError(24, "Too many open files", path)

    monkeypatch.setattr("_frozen_importlib_external._os.listdir", refuse)
    assert find_in(str(tmp_path), "json") is None


def test_modules_of_perfprobe_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    """Its table of modules has none, so that its first import inside `main` fails."""
    source = "import sys; sys.modules['perfprobe.collect.program'] = None\nfrom perfprobe.cli import main\n"
    done = subprocess.run(
        [sys.executable, "-c", source + "sys.exit(main(['program.py']))"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert done.stderr.startswith("perfprobe: it cannot start: ")
