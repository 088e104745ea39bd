"""`--help`, compared with the parsers' options, and what mistyped words are answered."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.cli import COMMANDS, main, module
from perfprobe.cli.options import Output, Parser, add_options
from perfprobe.cli.terminal import colored
from tests.build import Program
from tests.collect.runs import command, perfprobe
from tests.snapshots import Snapshot
from tests.terminal import shown

MOST_LINES = 40
FLAG = re.compile(r"(?:^  |, )(-[-a-z]+)", re.MULTILINE)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, command, "--help").splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_has_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, command, "--help", "all")
    assert max(map(len, text.splitlines())) <= 80
    known = set(module(command).parser()._option_string_actions)
    assert set(FLAG.findall(text)) == known
    assert set(FLAG.findall(printed(capsys, command, "--help"))) <= known


@pytest.mark.parametrize("command", [name for name in COMMANDS if module(name).parser().briefs])
def test_a_short_text_of_help_is_one_line(command: str) -> None:
    parser = module(command).parser()
    flags = {action.dest for action in parser._actions if action.option_strings}
    assert {name: text for name, text in parser.briefs.items() if name in flags and len(text) > 54} == {}


def test_the_short_help_names_all_commands(capsys: pytest.CaptureFixture[str], snapshot: Snapshot) -> None:
    text = printed(capsys, "--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    snapshot(f"{text}\n{printed(capsys, 'report', '-h')}")


def test_any_word_after_help_asks_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "report", "--help", "run.perfprobe") == printed(capsys, "report", "-h")


MISTYPED = [
    "report --view liness",
    "report --sorrt calls",
    "report --sort=cals",
    "report rum.perfprobe",
    "report deep/rum.perfprobe",
    "report --source dep",
    "bench rn.perfprobe",
    "graph --by oprator",
    "export --format chrme",
    "threads RUN.perfprobe",
    "completion bahs",
    "doctor --jsn",
    "--operators observr train.py",
    "--vew lines train.py",
    "reprot",
    "-q repot",
    "graf run.perfprobe",
    "help",
    "trian.py --epochs 1",
    "deep/modell.py",
]


def test_mistyped_words_are_answered_with_the_nearest_one(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("train.py", "run.perfprobe", "deep/run.perfprobe", "deep/model.py"):
        (tmp_path / name).touch()
    told = []
    for words in MISTYPED:
        outcome = command(words.split(), tmp_path)
        assert (words, outcome.status, outcome.out, outcome.err, len(outcome.said)) == (words, 2, b"", b"", 1)
        told.append(f"{words}\n    {outcome.said[0]}")
    snapshot("\n".join(told))


def test_a_folder_of_many_files_is_not_read_to_its_end(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / f"{number}.txt").touch()
    assert command(["report", "what"], tmp_path).status == 2


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "is_colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colours(
    choice: str,
    environment: dict[str, str],
    is_terminal: bool,
    is_colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "isatty", lambda _stream: is_terminal)
    assert colored(choice) is is_colored


@pytest.mark.parametrize("command", ["run", "report", "bench", "threads", "machine", "doctor"])
def test_commands_that_print_tables_take_color(command: str) -> None:
    parser, own = module(command).parser(), Parser("x")
    add_options(own, Output)
    assert set(own.declared) <= set(parser.declared)


def test_colours_reach_the_report_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text("import time\nfor _ in range(40): time.sleep(0.02)\n")
    for choice, is_colored in (("always", True), ("never", False)):
        outcome = perfprobe(["--view", "functions", "--color", choice, "sleep.py"], tmp_path)
        assert (outcome.status, b"\x1b[" in outcome.err) == (0, is_colored)


def test_force_color_and_no_color_decide_on_a_terminal_and_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "run.perfprobe").write_bytes(Program().encode())
    words = [sys.executable, "-m", "perfprobe", "report", "run.perfprobe"]
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    forced = subprocess.run(
        words, env={**plain, "FORCE_COLOR": "1"}, capture_output=True, cwd=tmp_path, check=False
    )
    assert b"\x1b[" in forced.stdout
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, env={**plain, "NO_COLOR": "1", "TERM": "xterm"}, stdout=theirs, cwd=tmp_path
    )
    text = shown(ours, theirs)
    process.wait()
    assert len(text) > 100
    assert b"\x1b[" not in text
