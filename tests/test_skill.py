"""What SKILL.md tells a coding agent exists: commands, options, tables, fields."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import perfprobe
from docs.filled import BRIEF, fields_of
from perfprobe.cli import COMMANDS, main, module
from perfprobe.cli.options import PROGRAM_OPTIONS
from perfprobe.report.render.brief_json import TABLES
from perfprobe.results import Results
from perfprobe.support.view import View
from perfprobe.words.first_screen import FIRST_SCREEN
from tests.report.test_screen_invariants import OnGpu, Random

SKILL = Path(perfprobe.__file__).with_name("SKILL.md").read_text(encoding="utf-8")
_FENCED = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"`([^`\n]+)`")
TYPED = [line for block in _FENCED.findall(SKILL) for line in block.splitlines()]
QUOTED = _QUOTED.findall(_FENCED.sub("", SKILL))
COMMANDS_NAMED = [*TYPED, *(word for word in QUOTED if word.startswith("perfprobe "))]


def briefs(folder: Path) -> list[dict[str, Any]]:
    found = []
    for kind in (Random, OnGpu):
        (folder / kind.__name__).mkdir()
        path = kind(3).made().recording(folder / kind.__name__).path
        found.append(Results(path).written(View(brief=True)).plain())
    return found


@pytest.mark.parametrize("command", COMMANDS_NAMED)
def test_every_command_is_accepted(command: str) -> None:
    program, name, *words = shlex.split(command)
    assert (program, name in COMMANDS) == ("perfprobe", True)
    if name == "explain":
        return  # its words are explained below, or placeholders
    parser = module(name).parser()
    end = parser.split(words, PROGRAM_OPTIONS) if name in ("run", "advise") else len(words)
    given = parser.parse_args(words[:end])
    if name == "report":
        View(view=given.view, focus=given.focus, brief=given.brief)


def test_there_are_commands_for_each_step_of_the_work() -> None:
    assert {shlex.split(command)[1] for command in TYPED} >= {"run", "report", "bench", "explain"}
    assert [line for line in TYPED if not line.startswith("perfprobe ")] == []


def test_every_table_and_field_it_names_exists(tmp_path: Path) -> None:
    heads = {name for found in briefs(tmp_path) for name in found}
    fields = {field for kind in BRIEF.values() for field in fields_of(kind)}
    options = {flag for name in COMMANDS for flag in module(name).parser()._option_string_actions}
    of_losses = {"reason", "remedy"}
    of_text = {"_ns", "StepSource", "next", "WORK", *FIRST_SCREEN}
    known = heads | set(TABLES) | fields | of_losses | of_text
    words = [word for word in QUOTED if not word.startswith("perfprobe ")]
    named = [word for word in words if not word.startswith("-")]
    assert sorted(set(named) - known) == []
    assert sorted({word.split()[0] for word in words if word.startswith("-")} - options) == []
    assert len(named) > 150


def test_every_field_of_the_short_document_is_named(tmp_path: Path) -> None:
    assert list(BRIEF) == list(TABLES)
    for found in briefs(tmp_path):
        for name, rows in found["tables"].items():
            assert {field for row in rows for field in row} <= set(fields_of(BRIEF[name]))


def test_explain_agent_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "agent"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("---\nname: perfprobe\n")
    assert "<!--" not in printed
    assert [line for line in printed.splitlines() if line and line not in SKILL.splitlines()] == []
    assert _QUOTED.findall(printed) == _QUOTED.findall(SKILL)


def test_words_it_asks_to_explain_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [shlex.split(line)[2:] for line in TYPED if line.startswith("perfprobe explain ")]
    assert asked
    for words in asked:
        assert main(["explain", *words]) == 0
    assert capsys.readouterr().out
