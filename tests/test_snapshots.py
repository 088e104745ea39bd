"""Snapshots: what differs is told, each has its test, and few asserts quote sentences beside them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.snapshots import Snapshot, masked, path_of, timeless

TESTS = Path(__file__).resolve().parent
# Asserts that quote a sentence. Fewer is better: lower it with each that goes.
MOST_QUOTING = 115
_ASKS = {"startswith", "endswith", "count", "index", "find", "all", "any"}


def told(path: Path, *texts: str, **named: str) -> str:
    """What the failing test prints."""
    with pytest.raises(pytest.fail.Exception) as failed:
        Snapshot(path, is_rewritten=False)(*texts, **named)
    return str(failed.value)


def test_an_equal_text_passes_and_another_is_told_as_a_diff(tmp_path: Path) -> None:
    path = tmp_path / "snapshots" / "test_it.txt"
    Snapshot(path, is_rewritten=True)("one\ntwo\nthree")
    Snapshot(path, is_rewritten=False)("one\ntwo\nthree\n")
    lines = told(path, "one\n2\nthree\n").splitlines()
    assert lines[1:3] == [f"--- {path}", "+++ what the test found"]
    assert lines[4:8] == [" one", "-two", "+2", " three"]
    assert "make snapshots" in lines[-1]
    assert "-'two\\n'" in told(path, "one\ntwo\r\nthree\n")


def test_a_missing_file_is_told_with_the_whole_text(tmp_path: Path) -> None:
    assert "+found" in told(tmp_path / "test_new.txt", "found").splitlines()
    assert list(tmp_path.iterdir()) == []


def test_several_texts_stand_under_their_names(tmp_path: Path) -> None:
    path = tmp_path / "test_it.txt"
    Snapshot(path, is_rewritten=True)("first", narrow="a\nb\n", wide="a b")
    assert path.read_text() == "first\n=== narrow\na\nb\n=== wide\na b\n"
    assert told(path, "first", narrow="a\nb\n", wide="a c").splitlines()[-3:-1] == ["-a b", "+a c"]


def test_a_second_text_of_a_test_is_refused(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path / "test_it.txt", is_rewritten=True)
    snapshot("one")
    with pytest.raises(AssertionError, match="by name"):
        snapshot("two")


def test_known_values_and_times_are_masked() -> None:
    found = masked("/t/a/b: torch 2.9", file="/t/a/b", folder="/t/a", version="2.9")
    assert found == "<file>: torch <version>"
    assert timeless("took 1.50 ms of 3 s, not 2 cores") == "took TIME of TIME, not 2 cores"


def test_each_snapshot_has_its_test(request: pytest.FixtureRequest) -> None:
    """As far as files of tests were collected in this run: all of them, if all tests run."""
    items = request.session.items
    used = {path_of(item) for item in items if "snapshot" in getattr(item, "fixturenames", ())}
    collected = {item.path for item in items}
    unused = []
    for path in sorted(TESTS.rglob("snapshots/*/*.txt")):
        tests = path.parents[2] / f"{path.parent.name}.py"
        if path not in used and (tests in collected or not tests.exists()):
            unused.append(path.relative_to(TESTS.parent).as_posix())
    assert not unused, "no test has these: git rm them"


def test_no_snapshot_has_a_path_of_this_machine() -> None:
    here = ("pytest-of-", str(TESTS.parent), sys.prefix, f"{Path.home()}/")
    for path in sorted(TESTS.rglob("snapshots/*/*.txt")):
        text = path.read_text(encoding="utf-8")
        assert not [each for each in here if each in text], path


def compared(node: ast.AST) -> Iterator[str]:
    """The texts that an assert compares, without those it passes to functions."""
    if isinstance(node, ast.Constant):
        yield node.value if isinstance(node.value, str) else ""
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            str(getattr(part, "value", "")) for part in node.values if isinstance(part, ast.Constant)
        )
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        yield from compared(node.func)
        for asked in node.args if name in _ASKS else []:
            yield from compared(asked)
    else:
        for child in ast.iter_child_nodes(node):
            yield from compared(child)


def quotes_a_sentence(check: ast.Assert) -> bool:
    """Whether a text in it has three words."""
    return any(
        sum(bool(re.search("[A-Za-z]{2}", word)) for word in text.split()) >= 3
        for text in compared(check.test)
    )


def test_no_more_asserts_quote_sentences_than_before() -> None:
    counts = {}
    for path in sorted(TESTS.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found = [node.lineno for node in nodes if isinstance(node, ast.Assert) and quotes_a_sentence(node)]
        if found:
            counts[path.relative_to(TESTS).as_posix()] = len(found)
    assert sum(counts.values()) <= MOST_QUOTING, f"make the new ones snapshots: {counts}"
