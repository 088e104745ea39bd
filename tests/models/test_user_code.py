"""The program's own code: calls by what a line uses, and how their text is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfprobe.merge import link
from perfprobe.models.user_code import UserCode, with_keyword
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line
from tests.build import Program
from tests.diagnose.advice.made import OF_HERE
from tests.report.test_text import META


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code(folder: Path, *lines: str) -> UserCode:
    (folder / "a.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return UserCode(Findings(link(Program(**{**META, **OF_HERE}).recording(folder))))


def at(folder: Path, number: int) -> Line:
    return Line(f"{folder}/a.py", number, "main")


@pytest.mark.parametrize(
    ("call", "changed"),
    [
        ("Loader(x)", "Loader(x, n=2)"),
        ("Loader()", "Loader(n=2)"),
        ("Loader(x, n=0)", "Loader(x, n=2)"),
        ("Loader(x, n = 0, m='a')", "Loader(x, n=2, m='a')"),
        ("data.Loader(x,  # all\n    batch=4,\n)", "data.Loader(x, batch=4, n=2)"),
        ("Loader(f(1), *more)", "Loader(f(1), *more, n=2)"),
    ],
)
def test_an_argument_is_added_or_changed(here: Path, call: str, changed: str) -> None:
    found = code(here, f"a = {call}").made_for(at(here, 1), "Loader")
    assert found is not None
    assert with_keyword(found, n="2") == changed


@pytest.mark.parametrize(
    ("loop", "line"),
    [
        ("for x in train: pass", 1),
        ("for i, x in enumerate(self.test): pass", 2),
        ("for x in what: pass", None),
    ],
)
def test_the_call_that_made_what_a_line_uses(here: Path, loop: str, line: int | None) -> None:
    found = code(here, "train = Loader(1)", "self.test = Loader(2)", loop).made_for(at(here, 3), "Loader")
    assert (None if found is None else found.line.line) == line


def test_the_only_call_counts_without_its_name(here: Path) -> None:
    found = code(here, "train = Loader(1)", "for x in given: pass").made_for(at(here, 2), "Loader")
    assert found is not None
    assert found.line.line == 1


@pytest.mark.parametrize("text", ["def (", "\0", "x = " + "+".join("a" * 500), "x = " + "[" * 90 + "]" * 90])
def test_what_cannot_be_parsed_is_not_known(here: Path, text: str) -> None:
    found = code(here, text)
    assert found.tree(f"{here}/a.py") is None
    assert found.text(at(here, 1)) is None


def test_a_statement_of_several_lines_is_one(here: Path) -> None:
    found = code(here, "def f():", "    return g(", "        1,  # one", "        2,", "    )")
    assert found.text(at(here, 3)) == "return g(1, 2)"
    assert found.text(at(here, 1)) == "def f():"
