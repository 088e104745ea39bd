"""The loop around a line, found by indentation, against Python's own parser."""

from __future__ import annotations

import ast
import difflib
import heapq
import statistics
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from perfprobe.report.section.screen.source import _loop_around

_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_BODIES = ("body", "orelse", "finalbody", "handlers")


def statements(node: ast.AST, loop: int = 0) -> Iterator[tuple[int, int]]:
    """Each statement of functions and loops that has no body: its line, and that of the loop around it."""
    for name in _BODIES:
        inside = node.lineno if isinstance(node, _LOOPS) and name == "body" else loop
        for each in getattr(node, name, ()):
            within = 0 if isinstance(each, (ast.FunctionDef, ast.ClassDef)) else inside
            if not any(hasattr(each, body) for body in _BODIES):
                yield each.lineno, within
            yield from statements(each, within)


@pytest.mark.parametrize("module", [difflib, heapq, statistics, textwrap], ids=lambda each: each.__name__)
def test_loops_are_those_of_the_parser(module: ModuleType) -> None:
    text = Path(module.__file__ or "").read_text(encoding="utf-8")
    lines, expected = text.splitlines(), dict(statements(ast.parse(text)))
    assert {number: _loop_around(lines, number) for number in expected} == expected
    assert any(expected.values())


@pytest.mark.parametrize("number", [-1, 0, 2, 9])
def test_lines_that_the_file_does_not_have_have_no_loop(number: int) -> None:
    assert _loop_around(["pass"], number) == 0
