"""Changes of a program's source as a unified diff: arguments of calls, where that is certain."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Iterable

from perfprobe.collect.tries.declared import Asked
from perfprobe.models.user_code import name_of
from perfprobe.tables.tried import Applied


def diff(folder: str, changes: Iterable[Applied]) -> str:
    """The diff of all changes that are an argument of a call; "" if none is.

    folder: the program's, in which its files are.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for each in changes:
        if each.file and each.file not in before:
            before[each.file] = after[each.file] = _text(os.path.join(folder, each.file))
        if each.file:
            after[each.file] = edited(after[each.file], each.line, each.word)
    found: list[str] = []
    for name, old in before.items():
        lines = old.splitlines(keepends=True), after[name].splitlines(keepends=True)
        found += difflib.unified_diff(*lines, f"a/{name}", f"b/{name}")
    return "".join(found)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def edited(source: str, line: int, word: str) -> str:
    """The source with the argument that this word stands for, in the call at this line; else unchanged."""
    one = Asked(word)
    if one.declared.argument is None:
        return source
    callee, name = one.declared.argument
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return source
    found = [call for call in calls if call.lineno == line and _is_of(call, callee)]
    if len(found) != 1 or not source.isascii():  # columns of ast count bytes
        return source
    return _with(source, found[0], name, one.value or "True")


def _is_of(call: ast.Call, callee: str) -> bool:
    """Whether it calls this; "": a class, with arguments."""
    name = name_of(call)
    return name == callee if callee else bool(name[:1].isupper() and call.args)


def _with(source: str, call: ast.Call, name: str, value: str) -> str:
    lines = source.splitlines(keepends=True)
    given = next((each.value for each in call.keywords if each.arg == name), None)
    if given is not None and given.end_lineno == given.lineno:
        text, begin, end = lines[given.lineno - 1], given.col_offset, given.end_col_offset
        lines[given.lineno - 1] = text[:begin] + value + text[end:]
        return "".join(lines)
    if given is not None or call.end_lineno is None or call.end_col_offset is None:
        return source
    text, end = lines[call.end_lineno - 1], call.end_col_offset - 1
    has_any = bool(call.args or call.keywords)
    inside = text[:end].rstrip()
    if not inside:  # the bracket stands alone
        previous = lines[call.end_lineno - 2]
        indent = previous[: len(previous) - len(previous.lstrip())]
        if not previous.rstrip().endswith(","):
            return source
        lines.insert(call.end_lineno - 1, f"{indent}{name}={value},\n")
        return "".join(lines)
    comma = " " if inside.endswith(",") else ", " if has_any else ""
    lines[call.end_lineno - 1] = f"{inside}{comma}{name}={value}{text[end:]}"
    return "".join(lines)
