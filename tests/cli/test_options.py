from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from perfprobe.cli.options import Parser, rows, size, writable
from perfprobe.cli.run import parser
from perfprobe.support.errors import EnvironmentLack, UsageError


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        ("train.py", 0),
        ("", 0),
        ("--top 5 train.py --top 6", 2),
        ("--top=5 -q train.py -q", 2),
        ("-o x.perfprobe -m package.train --top 5", 2),
        ("-ox.perfprobe train.py", 1),
        ("-mpackage.train -o x", 0),
        ("--cpu-time -- -odd-name.py", 1),
        ("--cpu-time train.py all", 1),
        ("--cpu-time all train.py", 2),
        ("--cpu-time outermost -m package.train", 2),
        ("--cpu-time=all all", 1),
        ("--cpu-time -q all", 2),
        ("--cpu-time", 1),
        ("--operators off --buffer 4M --json j.json --sort calls train.py", 8),
        ("--operators both --memory train.py", 3),
        ("-q - x", 1),
        ("--top", 1),
        ("--unknown train.py", 1),
    ],
)
def test_everything_after_the_script_belongs_to_the_script(words: str, ours: int) -> None:
    assert parser().split(words.split(), ("-m", "-c")) == ours


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("4194304", 4 << 20), ("32M", 32 << 20), ("32mb", 32 << 20), ("1GiB", 1 << 30), ("5000k", 5000 << 10)],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "M", "-4M", "4.5M", "4T", "4 M", "four"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as 32M"):
        size(text)


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "", "\u0663"])
def test_what_is_no_row_count(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        rows(text)


def test_parser_errors_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="unrecognized arguments: --nothing; see `perfprobe x --help`"):
        Parser("x").parse_args(["--nothing"])


def test_a_file_to_write_later_is_checked_now(tmp_path: Path) -> None:
    assert writable(str(tmp_path / "new.json")) == str(tmp_path / "new.json")
    with pytest.raises(UsageError, match="is a folder"):
        writable(str(tmp_path))
    with pytest.raises(EnvironmentLack, match="does not exist"):
        writable(str(tmp_path / "absent" / "new.json"))


@pytest.mark.parametrize(
    ("words", "cpu_time"),
    [
        ("", "off"),
        ("--cpu-time", "outermost"),
        ("--cpu-time all", "all"),
        ("--cpu-time=outermost -q", "outermost"),
    ],
)
def test_whose_cpu_time(words: str, cpu_time: str) -> None:
    assert parser().parse_args(words.split()).cpu_time == cpu_time


def test_whose_cpu_time_cannot_be_anything() -> None:
    with pytest.raises(UsageError, match=r"--cpu-time: invalid choice: 'some' .*outermost.*all"):
        parser().parse_args(["--cpu-time=some"])
