from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from perfprobe.cli.options import Parser, add_options, chosen, rows, size, writable
from perfprobe.cli.run import parser
from perfprobe.collect.options import Options
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.option import CHILDREN, COMMAND_LINE, PYTHON, RECORDING, Chosen, declared, option


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
        ("--cpu-time all train.py", 2),  # refused, and not taken for a script
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
def test_sizes_with_units_are_read(text: str, size_bytes: int) -> None:
    assert size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "M", "-4M", "4.5M", "4T", "4 M", "four"])
def test_wrong_sizes_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as 32M"):
        size(text)


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "", "\u0663"])
def test_wrong_row_counts_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        rows(text)


def test_parser_errors_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="there is no option: --nothing; see `perfprobe x --help`"):
        Parser("x").parse_args(["--nothing"])


def test_output_files_are_checked_before_the_program(tmp_path: Path) -> None:
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
        ("--cpu-time=outermost -q", "outermost"),
    ],
)
def test_cpu_time_may_be_off_or_outermost(words: str, cpu_time: str) -> None:
    assert parser().parse_args(words.split()).cpu_time == cpu_time


def test_other_values_of_cpu_time_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--cpu-time: invalid choice: 'some'; choose from off, outermost"):
        parser().parse_args(["--cpu-time=some"])


@pytest.mark.parametrize(
    "words", [["--cpu-time", "all"], ["--cpu-time=all"], ["--detail", "bench", "--cpu-time=all"]]
)
def test_cpu_time_all_is_refused_and_the_remedy_is_detail(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--cpu-time all was removed; give --detail bench"):
        parser().parse_args(words)


def recorded(words: str) -> dict[str, object]:
    return Options(**chosen(parser().parse_args(words.split()), Options)).recorded()


def test_options_set_what_is_recorded() -> None:
    plain = {each.name: each.default for each in declared(Options, RECORDING)}
    assert recorded("") == plain
    assert recorded("--buffer 8M --ranges off") == {**plain, "buffer_bytes": 8 << 20, "ranges": False}
    assert recorded("--ranges on --keep-argv") == {**plain, "keep_argv": True}
    assert recorded("--detail bench") == {**plain, "detail": "bench", "cpu_time": "all"}


@pytest.mark.parametrize(
    "words", ["", "--detail bench --buffer 8M --ranges off --keep-argv", "--cpu-time --emit itt"]
)
def test_a_child_process_has_the_options_of_its_parent(words: str) -> None:
    parent = Options(**chosen(parser().parse_args(words.split()), Options))
    assert Options(**parent.of(CHILDREN)).recorded() == parent.recorded()


class Some(Chosen):
    """One option of each kind."""

    places = (COMMAND_LINE,)
    rows: int = option(3, "how many", kind="rows")
    share: float | None = option(None, "how much", kind="percent", flag="--part")
    way: str = option("near", "how", values=("near", "far"), called="way", alone="far", gone={"up": "go far"})
    is_on: bool = option(True, "whether (default: %(default)s)")
    is_off: bool = option(False, "whether")
    place: str | None = option(None, "where", kind="folder", without=("--nowhere", "", "not there"))
    elsewhere: str = option("", "never on the command line", places=(PYTHON,))


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("", {"rows": 3, "share": None, "way": "near", "is_on": True, "is_off": False, "place": None}),
        ("--rows 0 --part 1.5 --way", {"rows": 0, "share": 1.5, "way": "far"}),
        (
            "--way near --is-on off --is-off --place x",
            {"way": "near", "is_on": False, "is_off": True, "place": "x"},
        ),
        ("--nowhere", {"place": ""}),
    ],
)
def test_a_parser_accepts_declared_options(words: str, values: dict[str, object]) -> None:
    made = Parser("x")
    add_options(made, Some)
    found = chosen(made.parse_args(words.split()), Some)
    assert {name: found[name] for name in values} == values
    assert "elsewhere" not in found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--rows -1", "--rows: '-1' is not a whole number"),
        ("--way up", "--way up was removed; go far"),
        ("--is-on maybe", "invalid choice: 'maybe'"),
        ("--place x --nowhere", "not allowed with"),
        ("--elsewhere x", "no option: --elsewhere"),
    ],
)
def test_a_parser_refuses_undeclared_options(words: str, said: str) -> None:
    made = Parser("x")
    add_options(made, Some)
    with pytest.raises(UsageError, match=said):
        made.parse_args(words.split())
