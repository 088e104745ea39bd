"""Every word that a section can print is explained, and no others are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfprobe
from perfprobe import words
from perfprobe.analyse.findings import SHOWN
from perfprobe.report.section.heads import heads_of
from perfprobe.report.section.listed import PEER_SECTIONS
from perfprobe.report.section.listed import SECTIONS as OF_REPORTS
from perfprobe.support.errors import UsageError
from perfprobe.support.views import SECTION_VIEWS, VIEWS
from perfprobe.tables.steps import PHASE_TEXTS
from perfprobe.words.first_screen import FIRST_SCREEN

ROOT = Path(perfprobe.__file__).resolve().parent
SECTION = ROOT / "report/section"
DOCS = ROOT.parent / "docs"
_MAKERS = {"Column", "figures", "timed", "times"}
# The tables whose columns a file makes. For other files, the section with the file's name.
_OF_FILE = {
    "operator_columns": ("operators",),
    "efficiency_cells": ("operators",),
    "shown_rows": ("operators",),
    "torch_columns": ("torch's own table",),
    "tried": ("advise",),
    "hot_lines": ("lines",),
    "hot_modules": ("modules",),
    "efficiency_table": ("efficiency",),
    "compared_tables": ("compare", "operators"),
    "function_columns": ("functions",),
    "kept": ("slow-steps",),
    "devices": ("gpus",),
    "cells": ("kernels", "copies"),
    "figures": ("operators", "ranges"),
    "phases": ("operators", "kernels", "copies", "waits"),
    "lines": ("operators", "ranges"),
    "modules": ("operators", "modules"),
    "teams": ("threads",),
    "sweep": ("threads",),
    "described": (),
}


def texts_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def titles_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value:
                yield first.value


def test_every_section_is_explained_and_no_other() -> None:
    assert tuple(SECTION_VIEWS) == tuple(section.name for section in OF_REPORTS)
    others = {"torch's own table", "machine", "compare", "history", "advise"}
    assert set(words.COLUMNS) - others <= set(VIEWS)


@pytest.mark.parametrize("path", sorted(SECTION.rglob("*.py")), ids=lambda path: path.stem)
def test_every_column_that_a_section_makes_is_explained(path: Path) -> None:
    titles = set(titles_of(ast.parse(path.read_text(encoding="utf-8"))))
    if titles and path.stem != "described":  # that file's columns are the fields of a table
        tables = _OF_FILE.get(path.stem, (path.stem,))
        explained = {title for table in tables for title in words.COLUMNS[table]}
        assert sorted(titles - explained) == [], f"of {tables}, in perfprobe/words"


def test_every_column_that_is_explained_is_in_some_section() -> None:
    """Those of `heads` are made where they are explained."""
    files = [*SECTION.rglob("*.py"), ROOT / "report/section/machine.py"]
    texts = {text for path in files for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))}
    made = {(each.name, head.title) for each in (*OF_REPORTS, *PEER_SECTIONS) for head in each.heads}
    made |= {(kind.table_name.replace("_", "-"), head.title) for kind in SHOWN for head in heads_of(kind)}
    gone = {
        (of, title) for of, titles in words.COLUMNS.items() for title in titles if title not in texts
    } - made
    assert gone == set()


def test_every_label_of_the_first_screen_is_explained() -> None:
    labels = {
        text
        for path in (SECTION / "screen").glob("*.py")
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        if re.fullmatch("[A-Z]{3,}", text)
    }
    assert labels == set(FIRST_SCREEN)


def test_every_explained_modifier_and_reason_is_in_the_code() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in [*ROOT.rglob("*.py"), *(ROOT.parent / "csrc").rglob("*.cpp")]
        if "perfprobe/words" not in str(path)
    )
    named = [word.name for kind in ("modifier of a verdict", "loss") for word in words.by_kind()[kind]]
    assert [name for name in named if name not in code] == []


def test_every_source_of_losses_is_explained() -> None:
    named = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                is_loss = node.func.attr in ("loss", "lose") or (
                    node.func.attr == "one" and ast.unparse(node.func.value) == "Losses"
                )
                first = node.args[0] if node.args else None
                if is_loss and isinstance(first, ast.Constant):
                    named.add(first.value)
    for path in (ROOT / "collect").rglob("*.py"):
        named |= set(re.findall(r'^    name = "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    explained = {word.name for word in words.by_kind()["source of losses"]}
    assert named
    assert named - explained == set()


def test_every_phase_has_a_place_in_the_glossary() -> None:
    reported = words.explained("phase")[-1].text + " ".join(word.text for word in words.explained("phases"))
    for text in ("forward", "backward", "recompute", "compile", "data", "other"):
        assert text in reported
        assert text in PHASE_TEXTS.values()


def test_look_up_ignores_case_and_finds_all_meanings() -> None:
    assert {word.of for word in words.explained("SELF")} == {"operators", "lines"}
    assert [word.kind for word in words.explained("Hot operators")] == ["section"]


def test_words_are_found_as_reports_print_them() -> None:
    (word,) = words.explained("poorly parallel: 1.1x on 2 threads")
    assert word.kind.startswith("modifier")
    (mark,) = words.explained("<25 ns")
    assert "measurement floor" in mark.text


def test_a_value_is_explained_as_in_its_column() -> None:
    (word,) = words.explained("Kept from earlier steps")
    assert (word.kind, word.of) == ("value", "category (memory)")
    assert "outlive their step" in word.text.partition(".")[0]
    assert [word.of for word in words.explained("batch_cost")] == ["measure (benchmark)"]


def test_a_field_of_a_table_is_explained_as_it_is_declared() -> None:
    (word,) = words.explained("Operators.cpu_ns")
    assert (word.kind, word.of) == ("field", "operators")
    assert "Unit: ns." in word.text


def test_similar_words_are_suggested() -> None:
    with pytest.raises(UsageError, match="no such word: medain; near: median, mean"):
        words.explained("medain")


def test_texts_are_sentences_and_guides_exist() -> None:
    for word in words.listed():
        assert word.text.endswith("."), word
        assert (DOCS / f"{word.guide}.md").exists(), word.guide
