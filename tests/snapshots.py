"""The texts that tests expect, in files beside them: `snapshots/FILE/TEST.txt`.

`make snapshots` writes them again, and `git diff` then shows what changed. A text is made from findings
written by hand, because measured numbers, versions and paths differ elsewhere. Where a message of a real run
has a version or path that the test knows, it is `masked`.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

COMMAND = "make snapshots"


class Snapshot:
    """Compares the texts of a test with its file. A test calls it once, so that its file has one writer."""

    def __init__(self, path: Path, *, is_rewritten: bool) -> None:
        self._path = path
        self._is_rewritten = is_rewritten
        self._is_used = False

    def __call__(self, text: str = "", /, **more: str) -> None:
        """Fails with the difference. more: further texts, each under its name."""
        assert not self._is_used, "a test has one snapshot: pass several texts by name"
        self._is_used = True
        found = _joined(text, more)
        if self._is_rewritten:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(found.encode())
            return
        expected = self._path.read_bytes().decode() if self._path.exists() else ""
        if found != expected:
            pytest.fail(_difference(expected, found, str(self._path)), pytrace=False)


def masked(text: str, **values: object) -> str:
    """The text with these values, which differ elsewhere, as their names: a folder, a version."""
    for name, value in sorted(values.items(), key=lambda each: -len(str(each[1]))):
        text = text.replace(str(value), f"<{name}>")
    return text


def timeless(text: str) -> str:
    """The text with a word for each time in it, because it was measured."""
    return re.sub(r"\b[\d.,]+ (?:ns|us|ms|s|min)\b", "TIME", text)


def path_of(item: pytest.Item) -> Path:
    """The file of a test. What a file's name should not have is replaced."""
    name = re.sub(r"[^\w.,=+\[\]-]", "_", item.name)
    return item.path.parent / "snapshots" / item.path.stem / f"{name}.txt"


def _joined(text: str, more: dict[str, str]) -> str:
    parts = ([text] if text else []) + [f"=== {name}\n{each}" for name, each in more.items()]
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def _difference(expected: str, found: str, path: str) -> str:
    before, after = expected.splitlines(), found.splitlines()
    # Lines that differ only in what is not seen, such as an end of line, look alike otherwise.
    if before == after:
        before, after = ([ascii(line) for line in text.splitlines(True)] for text in (expected, found))
    told = difflib.unified_diff(before, after, path, "what the test found", lineterm="")
    return "\n".join(
        ["another text than in its snapshot", *told, f"If it is meant: {COMMAND}, and read the diff."]
    )
