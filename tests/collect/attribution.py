"""Shared by tests of attribution: places of marked lines, and rows by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.collect.recorded import Row

ACCUMULATE = "AccumulateGrad"


class Marks:
    """The lines of a test file that end in `# mark`, as shown by reports."""

    def __init__(self, file: str) -> None:
        self._name = Path(file).name
        self._lines = Path(file).read_text(encoding="utf-8").splitlines()

    def __call__(self, mark: str, function: str) -> str:
        (line,) = [number for number, text in enumerate(self._lines, 1) if text.endswith(f"# {mark}")]
        return f"{self._name}:{line} in {function}"


def first_line(function: Callable[..., Any]) -> str:
    """The place of a function's first statement, which must be on the line after `def`."""
    code = function.__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno + 1} in {code.co_name}"


def named(rows: list[Row], name: str, phase: str | None = None) -> list[Row]:
    return [row for row in rows if row.name == name and phase in (None, row.phase)]


def linked_backward(rows: list[Row]) -> list[Row]:
    """All rows of backward except gradient accumulation, which has no forward call."""
    return [row for at, row in enumerate(rows) if row.phase == "backward" and not _in(rows, at, ACCUMULATE)]


def _in(rows: list[Row], at: int, name: str) -> bool:
    while at >= 0:
        if name in rows[at].name:
            return True
        at = rows[at].parent
    return False
