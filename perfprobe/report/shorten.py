"""Shortens signatures, lines and names to be readable; for display only, the full ones are in the JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from perfprobe.support.strides import is_contiguous
from perfprobe.support.text import printable
from perfprobe.tables.trace import Line

ELLIPSIS = "…"
LONGEST_LIST = 3  # elements of a list shown in full
LONGEST_NUMBERS = 6  # the same for numbers: sizes and strides of a tensor are shown in full
LONGEST_TEXT = 100_000  # characters that are read
DEEPEST_FOLDER = 32  # folders whose names distinguish files
_STRIDED = re.compile(r"\[(\d+(?:,\d+)+)\]\{(\d+(?:,\d+)+)\}")
_LIST = re.compile(r"(\w+=)?\((.*)\)")
_FOLDERS = re.compile(r"(^|[=:,\s])/(?:[^/\s]+/)+")
_OPENING, _CLOSING = "([{", ")]}"


def without_folders(command: str) -> str:
    """A command with only the names of files where it has absolute paths: pictures and pages are shared."""
    return _FOLDERS.sub(r"\1", command)


def cut(text: str, width: int) -> str:
    """The text in at most `width` terminal cells, with an ellipsis where something was cut off."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + ELLIPSIS if width > 0 else ""


def signature(text: str) -> str:
    """Long lists as `(62x f32[9,4])` or `(62: f32[9,4], f32[9], …)`, transposed ones as `f32[64,128].T`."""
    text = _STRIDED.sub(_transposed, text[:LONGEST_TEXT])
    return " ".join(_short_list(item) for item in split(text, " "))


def split(text: str, separator: str) -> list[str]:
    """The parts between separators outside of all brackets and quotes."""
    parts = [""]
    depth = 0
    quoted = escaped = False
    for letter in text:
        if letter == separator and depth == 0 and not quoted:
            parts.append("")
            continue
        parts[-1] += letter
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        else:
            quoted = letter == '"'
            depth += (letter in _OPENING) - (letter in _CLOSING and depth > 0)
    return [part for part in parts if part]


def _short_list(item: str) -> str:
    match = _LIST.fullmatch(item)
    elements = split(match[2], ",") if match else []
    if match is None or len(elements) <= LONGEST_LIST:
        return item
    name = match[1] or ""
    if "[" not in elements[0]:  # a list of numbers: the first ones are more useful than the count
        if len(elements) <= LONGEST_NUMBERS:
            return item
        return f"{name}({','.join(elements[:LONGEST_LIST])},...)"
    kinds = list(dict.fromkeys(elements))
    if len(kinds) == 1:
        return f"{name}({len(elements)}x {kinds[0]})"
    return f"{name}({len(elements)}: {kinds[0]}, {kinds[1]}, {ELLIPSIS})"


def _transposed(match: re.Match[str]) -> str:
    sizes = [int(size) for size in match[1].split(",")]
    strides = [int(stride) for stride in match[2].split(",")]
    if len(sizes) != len(strides):
        return match[0]
    sizes[-2:], strides[-2:] = sizes[:-3:-1], strides[:-3:-1]
    return f"[{match[1]}].T" if is_contiguous(sizes, strides) else match[0]


def file_names(files: Sequence[str]) -> dict[str, str]:
    """For each file the shortest end of its path that no other one shares."""
    names = {file: file for file in files}
    todo = sorted(names)
    for length in range(1, DEEPEST_FOLDER):
        ends: dict[str, list[str]] = {}
        for file in todo:
            ends.setdefault("/".join(file.split("/")[-length:]), []).append(file)
        names.update((group[0], end) for end, group in ends.items() if len(group) == 1)
        todo = [file for group in ends.values() if len(group) > 1 for file in group]
    return names


def place(line: Line) -> str:
    """`train.py:58`, whatever its folder."""
    file = printable(line.file)
    return f"{file_names([file])[file]}:{line.line}"
