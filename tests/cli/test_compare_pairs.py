"""`perfprobe compare` runs programs and versions: what it says, and that it leaves nothing behind.

The programs have steps that sleep, so that their times are known on a busy machine, and need no torch.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perfprobe.cli import main
from perfprobe.cli.compare_pairs import programs
from tests.experiment.repositories import commit, git, new, seen

STEPS = """
import os, sys, time
import perfprobe
{first}
for _ in range(24):
    time.sleep({ms} / 1000)
    perfprobe.step()
"""
WAITS = "open(os.environ['READY'], 'w').close(); time.sleep(99)"


def source(ms: float = 4, first: str = "") -> str:
    return STEPS.format(ms=ms, first=first)


class Compared:
    """A run of the command, with a folder of its own for temporary files."""

    def __init__(self, folder: Path, here: Path) -> None:
        self.here, self.temporary, self.ready = here, folder / "temporary", folder / "ready"
        self.temporary.mkdir(exist_ok=True)
        self._environment = {**os.environ, "TMPDIR": str(self.temporary), "READY": str(self.ready)}

    def run(self, *words: str, **given: Callable[[], None]) -> subprocess.CompletedProcess[str]:
        """Its end. Nothing is left among temporary files."""
        with self.started(*words, **given) as process:
            out, err = process.communicate()
        assert os.listdir(self.temporary) == []
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def started(self, *words: str, **given: Callable[[], None]) -> subprocess.Popen[str]:
        """The process."""
        return subprocess.Popen(
            [sys.executable, "-m", "perfprobe", "compare", "--pairs", "5", *words],
            cwd=self.here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **given,  # type: ignore[call-overload]
        )


@pytest.fixture
def files(tmp_path: Path) -> Compared:
    """Two programs, the second of which takes half as long again."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "a.py").write_text(source())
    (here / "b.py").write_text(source(6))
    return Compared(tmp_path, here)


@pytest.fixture
def repository(tmp_path: Path) -> Compared:
    """A repository whose second version takes half as long again; the working tree is as the first one."""
    top = tmp_path / "project"
    new(top, {"sub/train.py": source(), ".gitignore": "data\n"})
    commit(top, {"sub/train.py": source(6)})
    (top / "sub/train.py").write_text(source())
    (top / "data").mkdir()
    (top / "data/large").write_text("ignored")
    return Compared(tmp_path, top / "sub")


def test_two_programs_and_a_limit_that_is_broken(files: Compared) -> None:
    ended = files.run("--fail-on", "step>3%", "--", "a.py", "--", "b.py")
    assert (ended.returncode, ended.stderr) == (5, "")
    assert "GATE" in ended.stdout
    assert "A a.py, B b.py" in ended.stdout
    assert ", slower; 5 pairs" in ended.stdout
    assert sorted(os.listdir(files.here)) == ["a.py", "b.py"]


@pytest.mark.parametrize(("words", "status"), [([], 0), (["--fail-on-unknown"], 5)])
def test_a_run_may_not_begin_after_its_time(files: Compared, words: list[str], status: int) -> None:
    ended = files.run("--time", "0.1s", "--fail-on", "step>3%", *words, "--", "a.py", "--", "b.py")
    assert (ended.returncode, ended.stderr) == (status, "")
    assert "GATE" in ended.stdout
    assert "cannot tell" in ended.stdout
    assert ended.stdout.endswith(" is up.\n")


def test_versions_and_their_history(repository: Compared) -> None:
    top = repository.here.parent
    before = seen(top)
    words = ["--refs", "HEAD,WORK", "--record", "../../history.jsonl", "--label", "back"]
    limits = ["--fail-on", "step>3%", "--fail-on-unknown"]  # it is faster
    ended = repository.run(*words, *limits, "--", "train.py")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "GATE" in ended.stdout
    assert ", faster; 5 pairs" in ended.stdout
    assert seen(top) == before
    first, second = map(json.loads, (top.parent / "history.jsonl").read_text().splitlines())
    assert (first["commit"], first["against"]) == (git(top, "rev-parse", "HEAD"), None)
    assert (second["label"], second["commit"], second["runs"]) == ("back", "", 5)
    assert second["against"]["commit"] == first["commit"]
    assert second["against"]["ratio"] == pytest.approx(4 / 6, abs=0.1)


def test_recordings_are_kept_on_request(files: Compared) -> None:
    words = ["--keep", "kept", "--fail-on", "step>90%"]  # it is slower by 50 %
    assert files.run(*words, "--", "a.py", "--", "b.py").returncode == 0
    assert len(list((files.here / "kept").glob("*/run.perfprobe"))) == 12


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_programs_and_leaves_the_tree(
    repository: Compared, number: signal.Signals, status: int
) -> None:
    top = repository.here.parent
    (repository.here / "train.py").write_text(source(4, WAITS))
    before = seen(top)
    with repository.started("--refs", "HEAD,WORK", "--", "train.py") as process:
        while not repository.ready.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        out, _ = process.communicate()
    assert process.returncode == status
    assert "interrupted" in out
    assert os.listdir(repository.temporary) == []
    assert seen(top) == before


def test_what_the_pairs_before_an_interrupt_say(files: Compared) -> None:
    counts = "n = len(os.listdir()); open(f'n{n}', 'w').close()\nif n == 6: " + WAITS
    (files.here / "b.py").write_text(source(6, counts))
    with files.started("--", "a.py", "--", "b.py") as process:
        while not files.ready.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
    assert process.returncode == 130
    assert "5 are needed" in out
    assert out.endswith(": interrupted.\n")


FAILS = {
    "crashes": (
        source(4, "sys.exit('no such layer')"),
        "b.py: the program ended with exit code 1: b.py; no such",
    ),
    "has no steps": ("print('done')", "b.py has no steps to compare: b.py; mark its steps"),
    "reads input": (source(4, "input()"), "b.py: the program reads input"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_program_that(name: str, files: Compared) -> None:
    text, said = FAILS[name]
    (files.here / "b.py").write_text(text)
    ended = files.run("--", "a.py", "--", "b.py")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"perfprobe: {said}")
    assert len(ended.stderr.splitlines()) == 1


def test_what_is_linked_is_seen_and_must_not_change(repository: Compared) -> None:
    top = repository.here.parent
    reads = "assert open('../data/large').read() == 'ignored'"
    (repository.here / "train.py").write_text(source(4, reads))
    commit(top, {})
    words = ["--refs", "HEAD,HEAD", "--link", "../data", "--", "train.py"]
    assert repository.run("--time", "0.1s", *words).returncode == 0
    (repository.here / "train.py").write_text(source(4, f"{reads}; open('../data/new', 'w').close()"))
    commit(top, {})
    ended = repository.run(*words)
    assert ended.returncode == 3
    assert "was linked" in ended.stderr


def test_a_full_disk_is_one_line(repository: Compared) -> None:
    """Files are limited in size: git and copies fail as on a full disk."""
    top = repository.here.parent
    (top / "large").write_bytes(os.urandom(300_000))
    before = seen(top)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    ended = repository.run("--refs", "HEAD,WORK", "--", "train.py", preexec_fn=limit)
    assert ended.returncode == 4
    assert len(ended.stderr.splitlines()) == 1
    assert "too large" in ended.stderr
    assert seen(top) == before


def test_programs_are_divided_at_the_first_two_marks() -> None:
    assert programs(["--limit", "5"]) == (["--limit", "5"], [])
    assert programs(["--", "a"]) == ([], [["a"]])
    assert programs(["-x", "--", "a", "1", "--", "b", "--", "c"]) == (["-x"], [["a", "1"], ["b", "--", "c"]])


@pytest.mark.parametrize(
    "words",
    [
        ["--", "a.py"],
        ["--", "--", "b.py"],
        ["a.perfprobe", "b.perfprobe", "--", "a.py", "--", "b.py"],
        ["--refs", "main", "--", "a.py"],
        ["--refs", "main,", "--", "a.py"],
        ["--refs", "a,b", "--", "a.py", "--", "b.py"],
        ["--setup", "true", "--", "a.py", "--", "b.py"],
        ["--link", "data", "--", "a.py", "--", "b.py"],
        ["--pairs", "4", "--", "a.py", "--", "b.py"],
        ["--pairs", "13", "--", "a.py", "--", "b.py"],
        ["--limit", "0", "--", "a.py", "--", "b.py"],
        ["--refs", "HEAD,no-such", "--", "a.py"],
        ["--refs", "HEAD,HEAD", "--link", "no-such", "--", "a.py"],
        ["--keep", "no/such", "--refs", "HEAD,HEAD", "--", "a.py"],
    ],
)
def test_words_that_make_no_sense(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    new(tmp_path / "project", {"a.py": ""})
    monkeypatch.chdir(tmp_path / "project")
    assert main(["compare", *words]) in (2, 4)
    assert len(capfd.readouterr().err.splitlines()) == 1
