"""Completion scripts: the shell itself is asked what it would complete."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.runs import command, perfprobe
from tests.snapshots import Snapshot, masked

pytest.importorskip("shtab")

# Calls the function that TAB calls, for a line given as words.
ASK = """
source ./made.bash
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
"$(complete -p perfprobe | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("completion")
    for name in ("tree", ".perfprobe"):
        (made / name).mkdir()
    (made / ".perfprobe/kept.perfprobe").touch()
    for name in ("train.py", "two.py", "notes.txt", "tall.perfprobe", "told.pstats"):
        (made / name).write_text("")
    outcome = perfprobe(["completion", "bash"], made)
    assert (outcome.status, outcome.said) == (0, ())
    (made / "made.bash").write_bytes(outcome.out)
    (made / "ask").write_text(ASK)
    return made


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        (["rep"], "report"),
        (
            [""],
            "run report export graph list clean bench threads compare advise history trigger machine doctor "
            "build explain completion",
        ),
        (["tra"], ""),  # shtab completes no script in place of a command
        (["report", "--sor"], "--sort"),
        (["report", "--sort", ""], "self total calls mean median p95 gpu"),
        (["report", "t"], "tall.perfprobe told.pstats tree"),
        (["report", ".perfprobe/k"], ".perfprobe/kept.perfprobe"),
        (["report", ".p"], ".perfprobe .perfprobe"),  # the folder, and by its ending; shown once
        (["clean", "--"], "--help --keep --dry-run"),
        (["bench", "--em"], "--emit"),
        (["bench", "t"], "tall.perfprobe told.pstats tree"),
        (["--to"], "--top"),
        (["--sort", "c"], "calls"),
        (["-o", "n"], "notes.txt"),
        (["--top", "5", "re"], "report"),
        (["run", "tr"], "train.py tree"),
        (["run", "--top", "5", "tr"], "train.py tree"),
        (["run", "--cpu"], "--cpu-time"),
        (["run", "--cpu-time", ""], "off outermost"),
        (["doctor", "--"], "--help --json --color"),
        (["report", "--help", ""], "all"),
        (["export", "--format", ""], "pstats speedscope collapsed pprof chrome"),
        (["export", "-o", "n"], "notes.txt"),
        (["completion", ""], "bash zsh fish"),
        (["run", "-q", "train.py", "n"], "notes.txt"),
    ],
)
def test_completions_of_bash(line: list[str], completed: str, folder: Path) -> None:
    shell = shutil.which("bash") or pytest.skip("needs bash")
    words = [shell, "--norc", "ask", "perfprobe", *line]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(completed.split())


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("rep", "report"),
        ("report --sorr", "--sort"),
        ("report ", "tall.perfprobe told.pstats tree/"),
        ("run --top 5 tw", "two.py"),
    ],
)
def test_completions_of_fish(line: str, completed: str, folder: Path) -> None:
    shell = shutil.which("fish") or pytest.skip("needs fish")
    (folder / "script.fish").write_bytes(perfprobe(["completion", "fish"], folder).out)
    command = f"source script.fish; complete -C 'perfprobe {line}' | string replace -r '\\t.*' ''; true"
    words = [shell, "--no-config", "-c", command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == completed.split()


def test_completion_has_every_option_of_every_command(folder: Path) -> None:
    from perfprobe.cli import COMMANDS, module

    for shell in ("bash", "zsh", "fish"):
        text = command(["completion", shell], folder).out.decode()
        for name in COMMANDS:
            options = [word for word in module(name).parser()._option_string_actions if word.startswith("--")]
            assert [word for word in options if f" -l {word[2:]}" not in text and word not in text] == []


def test_zsh_accepts_the_script(folder: Path) -> None:
    shell = shutil.which("zsh") or pytest.skip("needs zsh")
    text = perfprobe(["completion", "zsh"], folder).out
    subprocess.run([shell, "-f", "-n"], input=text, cwd=folder, check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_exactly_shtabs_output(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import shtab

    from perfprobe.cli import completion

    monkeypatch.setattr(shtab, "complete", lambda parser, shell: f"{parser.prog} {shell}")
    assert completion.script(shtab, shell) == f"perfprobe {shell}"


def test_missing_shtab_is_reported(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "fakes").mkdir()
    (tmp_path / "fakes" / "shtab.py").write_text("raise ImportError('No module named shtab')\n")
    outcome = perfprobe(["completion", "bash"], tmp_path, {"PYTHONPATH": str(tmp_path / "fakes")})
    assert (outcome.status, outcome.out) == (4, b"")
    snapshot(masked("\n".join(outcome.said), python=sys.executable))


def test_unknown_shells_are_refused(tmp_path: Path) -> None:
    outcome = command(["completion", "tcsh"], tmp_path)
    assert (outcome.status, outcome.out, len(outcome.said)) == (2, b"", 1)
