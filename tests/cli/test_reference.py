"""The reference of options, compared with the parsers' options and with one known row."""

from __future__ import annotations

import re

from perfprobe.cli import COMMANDS, module
from perfprobe.cli.reference import markdown
from tests.snapshots import Snapshot


def test_every_option_of_every_command_is_listed_once() -> None:
    sections = re.split(r"^## perfprobe (\w+)\n", markdown(), flags=re.MULTILINE)
    assert sections[1::2] == list(COMMANDS)
    for name, text in zip(sections[1::2], sections[2::2], strict=True):
        flags = [
            flag
            for row in re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
            for flag in re.findall("`(.*?)`", row)
        ]
        assert sorted(flags) == sorted(set(module(name).parser()._option_string_actions) - {"-h", "--help"})


def test_a_row_has_all_declared_facts(snapshot: Snapshot) -> None:
    rows = [line for line in markdown().splitlines() if line.startswith(("| `--buffer`", "| `--source`"))]
    snapshot("\n".join(rows))


def test_rows_have_as_many_cells_as_the_header() -> None:
    rows = [line for line in markdown().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
