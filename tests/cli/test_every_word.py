"""`perfprobe explain` knows every word that reports, JSON and `--help` print, as the code has them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import perfprobe.report.rows
import perfprobe.report.section
import perfprobe.tables
from perfprobe import words
from perfprobe.analyse.findings import SHOWN
from perfprobe.cli import COMMANDS, module, reference
from perfprobe.merge import link
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.section.block import Heading, Table
from perfprobe.report.section.listed import PEER_SECTIONS, SECTIONS, kinds_of
from perfprobe.support.errors import UsageError
from perfprobe.support.views import PEER_VIEWS
from perfprobe.tables.declared import declared
from perfprobe.words.json_words import JSON_FIELDS
from tests.build import Program
from tests.found import find
from tests.report.test_text import training
from tests.report.traced import traced

ROOT = Path(perfprobe.__file__).resolve().parent
SECTION = ROOT / "report/section"
_BEGINNINGS = ("Lines of ", "Phases of ")  # of titles that contain a name
# Dicts whose texts are sentences or colours, and `_PHASES`: "in" and a text of another one.
_NOT_WORDS = {
    "MEANINGS",
    "_MEANINGS",
    "MEANING",
    "_SORT_NAMES",
    "_MISSING",
    "_FLOORS",
    "_REASONS",
    "STYLES",
    "_COLORS",
    "_UNITS",
    "_PHASES",
    "_LIMITS",
    "_NOT_COMPUTING",
    "_HELPS",
    "_WHO",
}


@cache
def of_help() -> list[words.Word]:
    return reference.words()


@cache
def is_known(word: str) -> bool:
    try:
        words.explained(word, of_help())
    except UsageError:
        return False
    return True


def unknown(found: Iterator[str]) -> list[str]:
    return sorted({word for word in found if word.strip() and not is_known(word)})


def trees(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.stem, ast.parse(path.read_text(encoding="utf-8"))


def modules_of(*packages: ModuleType) -> Iterator[ModuleType]:
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def calls_of(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls of these functions or methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
            yield node


def test_every_view_is_explained() -> None:
    assert tuple(PEER_VIEWS) == tuple(section.name for section in PEER_SECTIONS)
    assert unknown(iter((*PEER_VIEWS, *(section.name for section in SECTIONS)))) == []


def test_every_command_option_and_value_is_explained() -> None:
    actions = [action for name in COMMANDS for action in module(name).parser()._actions]
    flags = {flag for action in actions for flag in action.option_strings}
    values = {str(value) for action in actions for value in action.choices or ()}
    assert len(flags) > 60
    assert unknown(iter((*COMMANDS, *flags, *(flag.lstrip("-") for flag in flags), *values))) == []


def test_every_table_and_column_of_recordings_is_explained() -> None:
    tables = [(kind.table_name or kind.__name__, kind) for kind in declared()]
    assert unknown(name for name, _ in tables) == []
    assert unknown(f"{name}.{column}" for name, kind in tables for column in kind.described) == []


def json_tables() -> Iterator[str]:
    """The names of tables in JSON: keys of the dicts that the sections' functions return."""
    for _, tree in trees(SECTION):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.endswith(("_tables", "totals_table")):
                yield from keys_of(node)


def keys_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        keys = node.keys if isinstance(node, ast.Dict) else []
        keys = [node.slice] if isinstance(node, ast.Subscript) else keys
        for key in keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value


def test_every_table_of_json_is_explained_and_no_other() -> None:
    shown = {kind.table_name for kind in SHOWN}
    assert {*json_tables(), *shown} == set(words.TABLES) - {"ceilings", "levels"}  # `perfprobe machine`


def row_fields() -> Iterator[str]:
    """Fields of rows that JSON has by this name."""
    for found in modules_of(perfprobe.report.rows):
        for name, kind in vars(found).items():
            is_own = isinstance(kind, type) and kind.__module__ == found.__name__ and is_dataclass(kind)
            if is_own and name.endswith("Row") and name != "TreeRow":
                for field in fields(kind):
                    if not {"unwritten", "inline", "spread"} & set(field.metadata):
                        yield field.name


def test_every_field_of_json_is_explained() -> None:
    assert unknown(row_fields()) == []


def test_every_explained_field_of_json_is_in_the_code() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "report").rglob("*.py"))
    assert [name for name in JSON_FIELDS if name not in code] == []


def literal_titles() -> Iterator[str]:
    """Titles of headings and columns in the code of sections."""
    for _, tree in trees(SECTION):
        for call in calls_of(tree, "Heading", "Column", "figures"):
            heads = (head for head in heads_of(call.args[0]) if head not in _BEGINNINGS)
            yield from (head.rstrip(" -") for head in heads)


def test_every_heading_and_column_in_the_code_is_explained() -> None:
    assert unknown(literal_titles()) == []


def printed_titles(program: Program, folder: Path) -> Iterator[str]:
    """Titles of the headings and columns that all sections print of a recording."""
    sections = (*SECTIONS, *PEER_SECTIONS)
    found = find(link(program.recording(folder)), *kinds_of(sections))
    choice = Choice(None, sort_of(found, "self"), "all", "self", True)
    for section in sections:
        if all(kind in found for kind in section.requires):
            for block in section.blocks(found, choice):
                if isinstance(block, Heading) and not block.title.startswith(_BEGINNINGS):
                    yield block.title
                if isinstance(block, Table):
                    yield from (re.sub("^GPU [0-9]+$", "GPU", column.title) for column in block.columns)


@pytest.mark.parametrize("made", [training, traced])
def test_every_heading_and_column_of_a_report_is_explained(made: Any, tmp_path: Path) -> None:
    titles = list(printed_titles(made(), tmp_path))
    assert len(titles) > 50
    assert unknown(iter(titles)) == []


def texts_of_values() -> Iterator[str]:
    """Texts that stand for values in cells, from the dicts of modules."""
    for found in modules_of(perfprobe.tables, perfprobe.report.section, perfprobe.report.rows):
        for name, value in vars(found).items():
            if name not in _NOT_WORDS and name.isupper() and isinstance(value, dict):
                yield from (text for text in value.values() if isinstance(text, str))


def names_of_values() -> Iterator[str]:
    """Values in JSON that are names of an enumeration: `word(Phase, ...)`."""
    found = [kind for each in modules_of(perfprobe.tables) for kind in vars(each).values()]
    kinds = {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, IntEnum)}
    for _, tree in trees(ROOT / "report/rows"):
        for call in calls_of(tree, "word"):
            yield from (each.name.lower() for each in kinds[ast.unparse(call.args[0])])


def test_every_value_is_explained() -> None:
    assert unknown(texts_of_values()) == []
    assert unknown(name for name in names_of_values() if name != "unknown") == []


def heads_of(node: ast.AST | None) -> Iterator[str]:
    """How a text begins: the constant parts before the first value in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr) and node.values:
        yield from heads_of(node.values[0])
    elif isinstance(node, ast.BinOp):
        yield from heads_of(node.left)
    elif isinstance(node, ast.IfExp):
        yield from (*heads_of(node.body), *heads_of(node.orelse))


def reasons() -> Iterator[str]:
    """Reasons of losses, as far as the code has them as texts: `reason = "..."` or an argument of `loss`."""
    for _, tree in trees(ROOT):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason":
                yield from heads_of(node.value)
        for call in calls_of(tree, "loss"):
            yield from (head for argument in call.args[1:2] for head in heads_of(argument))


def test_every_loss_is_explained() -> None:
    assert unknown(reasons()) == []
