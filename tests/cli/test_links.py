"""Links of `file:line`: only on a terminal, only to files of the recording that exist."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfprobe.cli.links import linked
from perfprobe.support.text import harmless
from tests.build import Program, op
from tests.report.test_text import META
from tests.terminal import shown

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\([^\x1b]*)\x1b\]8;;\x1b\\")


def files(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return [str(folder / name) for name in names]


def test_a_place_is_a_link_to_its_line(tmp_path: Path) -> None:
    known = files(tmp_path, "a b/train.py")
    shown = linked("SLOW    train.py:51, 7 ms", known, "host")
    assert LINK.findall(shown) == [(f"file://host{tmp_path}/a%20b/train.py#51", "train.py:51")]
    assert LINK.sub(r"\2", shown) == "SLOW    train.py:51, 7 ms"


def test_only_a_name_that_means_one_existing_file_is_a_link(tmp_path: Path) -> None:
    known = [*files(tmp_path, "a/net.py", "b/net.py", "one.py"), str(tmp_path / "gone.py")]
    text = "net.py:1 a/net.py:2 b/net.py:3 one.py:4 gone.py:5 x/one.py:6 none.py:7 one.py one.pyc:8"
    assert [shown for _, shown in LINK.findall(linked(text, known))] == [
        "a/net.py:2",
        "b/net.py:3",
        "one.py:4",
    ]
    assert LINK.sub(r"\2", linked(text, known)) == text


def test_a_name_from_outside_cannot_end_the_link(tmp_path: Path) -> None:
    known = files(tmp_path, "\x1b\\\x07;x/one.py")
    (url, _) = LINK.findall(linked("one.py:1", known))[0]
    assert url.isascii()
    assert url.isprintable()
    assert (
        harmless("\x1b]8;;file:///x\x1b\\one.py:1\x1b]8;;\x1b\\")
        != "\x1b]8;;file:///x\x1b\\one.py:1\x1b]8;;\x1b\\"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("\n" * 30)
    program = Program(**{**META, "host": {"name": os.uname().nodename}})
    program.thread(1)
    stack = program.stack(f"{tmp_path / 'train.py'}:25 main")
    program.run(op("aten::mm", 0, 50_000_000, stack=stack))
    os.rename(program.recording(tmp_path).path, tmp_path / "run.perfprobe")
    return tmp_path


def on_terminal(folder: Path, *words: str, term: str = "xterm") -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": term, "COLUMNS": "100"}
    command = [sys.executable, "-m", "perfprobe", "report", "run.perfprobe", *words]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs)
    text = shown(ours, theirs)
    assert process.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_links_are_on_terminals_and_change_nothing_else(folder: Path) -> None:
    colored = on_terminal(folder)
    urls = {url for url, _ in LINK.findall(colored)}
    assert urls == {f"file://{os.uname().nodename}{folder}/train.py#25"}
    plain = on_terminal(folder, "--color", "never")
    assert "\x1b" not in plain
    without = re.sub(r"\x1b\[[0-9;]*m", "", LINK.sub(r"\2", colored))
    assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()
    assert "\x1b" not in on_terminal(folder, term="dumb")
    assert not LINK.findall(on_terminal(folder, "--no-source"))


def test_files_and_pipes_have_none(folder: Path) -> None:
    words = [sys.executable, "-m", "perfprobe", "report", "run.perfprobe", "--color", "always"]
    piped = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert "\x1b[" in piped.stdout
    assert "\x1b]" not in piped.stdout
