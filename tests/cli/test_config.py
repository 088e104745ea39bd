"""`[tool.perfprobe]` in pyproject.toml."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path

import pytest

from perfprobe.cli import config, module
from perfprobe.cli.config import use_config
from perfprobe.cli.options import Output
from perfprobe.collect.options import Options
from perfprobe.support.errors import UsageError
from perfprobe.support.option import COMMAND_LINE, declared
from perfprobe.support.view import View
from tests.collect.runs import command, finish, perfprobe, start
from tests.snapshots import Snapshot, masked

ALL = {
    "python": "sample",
    "operators": "both",
    "buffer": "16M",
    "cpu-time": True,
    "detail": "bench",
    "memory": True,
    "native": True,
    "counters": True,
    "gpu": "off",
    "gpu-links": "exact",
    "gpu-graphs": "launch",
    "ranges": False,
    "emit": "nvtx",
    "children": "off",
    "keep-argv": True,
    "results": True,
    "steps": "10:30",
    "repeat": 2,
    "duration": "90s",
    "exit-after": True,
    "wait": True,
    "baseline": 5,
    "budget": "5%",
    "keep": "slow",
    "rotate": "1G",
    "benchmark": True,
    "warmup": 3,
    "every-step-line": 7,
    "full": True,
    "view": "lines",
    "brief": True,
    "top": 40,
    "sort": "calls",
    "group": "op",
    "focus": r"a\.b|'c'",
    "columns": "all",
    "package": "torch,mine",
    "largest": 1 << 30,
    "source": "src",
    "color": "never",
    "quiet": True,
}


def toml(values: dict[str, object]) -> str:
    return "[tool.perfprobe]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def given(folder: Path, text: str, command: str = "run", words: tuple[str, ...] = ()) -> argparse.Namespace:
    (folder / "pyproject.toml").write_text(text)
    parser = module(command).parser()
    use_config(parser, words)
    found: argparse.Namespace = parser.parse_args(words)
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_declared_option_can_be_set_as_on_the_command_line(tmp_path: Path) -> None:
    kinds = (Options, View, Output)
    flags = {option.flag.lstrip("-") for kind in kinds for option in declared(kind, COMMAND_LINE)}
    assert set(ALL) == flags | {"quiet"}
    for key, value in ALL.items():
        words = [f"--{key}"] if value is True else [f"--{key}={'off' if value is False else value}"]
        by_words = module("run").parser().parse_args(words)
        if key == "source":
            by_words.source = str(tmp_path / "src")
        assert given(tmp_path, toml({key: value})) == by_words, key


def test_report_takes_its_own_options_only(tmp_path: Path) -> None:
    found = given(tmp_path, toml(ALL), "report")
    assert (found.top, found.sort, found.full) == (40, "calls", True)
    assert not hasattr(found, "memory")


def test_an_option_on_the_command_line_wins(tmp_path: Path) -> None:
    text = toml({"top": 40, "source": "src", "ranges": False, "sort": "calls"})
    found = given(tmp_path, text, words=("--top", "3", "--no-source", "--ranges", "on"))
    assert (found.top, found.source, found.ranges, found.sort) == (3, "", "on", "calls")


def test_the_nearest_file_counts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a/b/c"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(toml({"top": 1, "source": "src"}))
    monkeypatch.chdir(inner)
    parser = module("run").parser()
    assert use_config(parser, ()) == str(tmp_path / "pyproject.toml")
    assert parser.parse_args([]).source == str(tmp_path / "src")
    (tmp_path / "a/pyproject.toml").write_text("[project]\nname = 'x'\n")
    parser = module("run").parser()
    assert use_config(parser, ()) == ""
    assert parser.parse_args([]).top is None


@pytest.mark.parametrize(("words", "value"), [(("--no-config",), ""), ((), "off")])
def test_it_can_be_switched_off(
    words: tuple[str, ...], value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFPROBE_CONFIG", value)
    assert given(tmp_path, toml({"topp": 1}), words=words).top is None


WRONG = {
    "near word": 'sorting = "calls"',
    "underscore": 'gpu_links = "exact"',
    "no such word": "xyzzy = 1",
    "only on the command line": 'output = "a.perfprobe"',
    "only of report": 'plot = "a.png"',
    "a text for a number": 'top = "40"',
    "a number for a switch": "memory = 1",
    "a switch for a number": "top = true",
    "a number for a text": "focus = 3",
    "a fraction": "repeat = 1.5",
    "negative": "top = -1",
    "no such value": 'group = "lines"',
    "gone": 'cpu-time = "all"',
    "size": 'buffer = "lots"',
    "list": "package = ['a', 'b']",
    "date": "top = 2026-01-01",
    "two on a line": "top = 1 sort = 2",
    "no value": "top =",
    "dotted": "a.b = 1",
    "long text": 'focus = """a"""',
    "escape": r'focus = "\d"',
    "twice": "top = 1\ntop = 2",
    "its own table": "[tool.perfprobe.report]",
    "many tables": "[[tool.perfprobe]]",
}


def test_what_is_wrong_is_one_line_with_the_place(tmp_path: Path, snapshot: Snapshot) -> None:
    said = []
    for rows in WRONG.values():
        with pytest.raises(UsageError) as caught:
            given(tmp_path, f"[tool.perfprobe]\n{rows}\n")
        said.append(masked(f"{rows}\n  {caught.value}\n", folder=tmp_path))
    snapshot("".join(said))


def test_options_that_exclude_each_other_name_the_file(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "pyproject.toml").write_text(toml({"memory": True}))
    (tmp_path / "train.py").write_text("print('never')\n")
    outcome = perfprobe(["--operators", "off", "train.py"], tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (2, b"", b"")
    snapshot(masked("\n".join(outcome.said), folder=tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[tool.perfprobes]\ntopp = 1\n",
        "[tool]\nperfprobe = 'x'\n",
        "# [tool.perfprobe]\n[project]\ntopp = 1\n",
        "[tool.perfprobe]\n[project]\ntopp = 1\n",
        "[tool.perfprobe]",
        "x = '[tool.perfprobe]'\ntopp = 1\n",
    ],
)
def test_other_tables_are_left_alone(text: str, tmp_path: Path) -> None:
    assert vars(given(tmp_path, text)) == vars(module("run").parser().parse_args([]))


@pytest.mark.parametrize("made", ["folder", "pipe", "unreadable", "bytes", "link"])
def test_a_file_that_cannot_be_read_has_no_defaults(made: str, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    if made == "folder":
        path.mkdir()
    elif made == "pipe":
        os.mkfifo(path)
    elif made == "link":
        path.symlink_to("/nowhere")
    else:
        path.write_bytes(b"\xff\xfe\0[project]\n" * 1000)
        path.chmod(0 if made == "unreadable" else 0o600)
    use_config(module("run").parser(), ())


LETTERS = ("a", "é", "'", "\\\\", '\\"', "\\t", "\\u00e9", "\\U0001F600", "#", " ", "=", "]", "[")


def random_value(chance: random.Random) -> str:
    digits = chance.choice(
        ["0", "7", "1_000", "+3", "-12", "1.5", "2e3", "-1_0.2_5e-1_0", "00", "1__0", "_1", "1.", ".5"]
    )
    text = "".join(chance.choices(LETTERS, k=chance.randrange(6)))
    literal = "".join(letter for letter in text if letter != "'")
    return chance.choice(
        [digits, f'"{text}"', f"'{literal}'", "true", "false", "True", f'"{text}', f"{text}'"]
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")
def test_rows_are_read_as_tomllib_reads_them() -> None:
    """Random rows: the same value or, where tomllib refuses, an error."""
    import tomllib

    chance = random.Random(7)
    blanks = ("", " ", "\t", "  ")
    for _ in range(5000):
        key = chance.choice(["top", "gpu-links", "a_b", '"a b"', "'x'", '"\\u0041"', "1", "ä", "a b"])
        parts = (key, "=", random_value(chance), chance.choice(["", "", "# a 'b' \"c"]))
        row = "".join(f"{chance.choice(blanks)}{part}" for part in parts)
        text = f"[tool.perfprobe]\n{row}\n"
        try:
            expected = tomllib.loads(text)["tool"]["perfprobe"]
        except tomllib.TOMLDecodeError:
            with pytest.raises(UsageError):
                list(config._rows("x", text))
            continue
        assert {key: value for _, key, value in config._rows("x", text)} == expected, row


def test_a_run_and_its_report_follow_the_file(tmp_path: Path) -> None:
    values = {"full": True, "operators": "off", "python": "sample", "json": 1}
    (tmp_path / "train.py").write_text("print('runs')\n")
    (tmp_path / "pyproject.toml").write_text(
        toml({name: values[name] for name in ("full", "operators", "python")})
    )
    outcome = perfprobe(["-o", "a.perfprobe", "--json", "a.json", "train.py"], tmp_path)
    assert outcome.status == 0
    recorded = json.loads((tmp_path / "a.json").read_text())["meta"]["recording"]
    assert (recorded["operators"], recorded["python"]) == ("off", "sample")
    short, full = (
        command(["report", *words, "a.perfprobe"], tmp_path).out for words in (["--no-config"], [])
    )
    assert len(full) > len(short)


def test_nothing_is_imported_for_it_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import sys; print(*sys.modules)\n")
    without = perfprobe(["-q", "plain.py"], tmp_path)
    (tmp_path / "pyproject.toml").write_text(toml({"top": 3, "buffer": "16M", "cpu-time": True}))
    within = perfprobe(["-q", "plain.py"], tmp_path)
    loaded = set(within.out.decode().split()) - set(without.out.decode().split())
    assert loaded == set()


def test_a_removed_folder_has_none(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('runs')\n")
    gone = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
    gone += f"os.environ['TMPDIR'] = {str(tmp_path)!r};"
    gone += (
        f"os.execv(sys.executable, [sys.executable, '-m', 'perfprobe', '-q', {str(tmp_path / 'train.py')!r}])"
    )
    assert finish(start(["-c", gone], tmp_path)).out == b"runs\n"
