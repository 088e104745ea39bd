"""Defaults of options from `[tool.perfprobe]` in pyproject.toml, for `run` and `report`.

This runs before the program. tomllib would load typing, so the lines of this table are read here: each has
a key and a text, a number, true or false, which is all that an option takes.
"""

from __future__ import annotations

import os
import re
from json import dumps

from perfprobe.collect.program import current_folder
from perfprobe.support.errors import UsageError
from perfprobe.support.nearest import suggestion
from perfprobe.support.pattern import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from perfprobe.cli.options import Parser
    from perfprobe.support.option import Option

FLAG = "--no-config"
_FILE = "pyproject.toml"
_TABLE = "[tool.perfprobe]"
_MOST_BYTES = 1 << 20
_HEADER = pattern(r"[ \t]*\[{1,2}[ \t]*tool[ \t]*\.[ \t]*perfprobe\b[^\]]*\]{1,2}")
_BASIC = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\(?:[btnfr"\\]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))*"'
_LITERAL = r"'[^'\x00-\x08\x0a-\x1f\x7f]*'"
_WHOLE = r"[+-]?(?:0|[1-9](?:_?[0-9]){0,17})"
_NUMBER = rf"{_WHOLE}(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
_ROW = pattern(rf"""[ \t]*(?P<key>[\w-]+|{_BASIC}|{_LITERAL})[ \t]*=[ \t]*
    (?:(?P<basic>{_BASIC})|(?P<literal>{_LITERAL})|(?P<switch>true|false)|(?P<whole>{_WHOLE})|(?P<number>{_NUMBER}))
    [ \t]*(?:\#.*)?""", re.VERBOSE | re.ASCII)  # fmt: skip
_EMPTY = pattern(r"[ \t]*(?:#.*)?")
_ESCAPED = pattern(r"\\(?:u(....)|U(........)|(.))")
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
# The types of values by `Option.kind`: what the command line writes without quotes may also be a number here.
_OF_KINDS = {
    "rows": (int,),
    "steps": (int,),
    "seconds": (int, float, str),
    "size": (int, str),
    "percent": (int, float),
}


def add_config(parser: Parser) -> None:
    """Add the option that switches the file off."""
    text = f"do not read {_TABLE} in {_FILE} of this folder or its parents (also: PERFPROBE_CONFIG=off)"
    parser.add(FLAG, action="store_true", help=text)


def use_config(parser: Parser, words: Sequence[str]) -> str:
    """Make the values of the file the defaults of the parser's options; returns the file, "" for none.

    Args:
        words: the command's own words.

    Raises:
        UsageError: the table has a key that is no option, or a value of the wrong type, or cannot be read.
    """
    folder = current_folder()
    if folder is None or FLAG in words or os.environ.get("PERFPROBE_CONFIG") == "off":
        return ""
    path = _nearest_file(folder)
    text = "" if path == "" else _text(path)
    if _TABLE not in text and _HEADER.search(text) is None:
        return ""
    own = {action.dest for action in parser._actions}
    found = {name: value for name, value in _defaults(path, text) if name in own}
    parser.set_defaults(**found)
    return path


def said_with(error: UsageError, path: str) -> UsageError:
    """The error about options that exclude each other, with the file from which some of them may be."""
    if not path:
        return error
    remedy = "; ".join(filter(None, [error.remedy, f"{_TABLE} in {path} also counts"]))
    return UsageError(error.what, error.where, remedy)


def _nearest_file(folder: str) -> str:
    """Returns the pyproject.toml of this folder, or of the nearest parent that has one; "" for none."""
    while True:
        path = os.path.join(folder, _FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""  # what cannot be read has no defaults


def _defaults(path: str, text: str) -> Iterator[tuple[str, Any]]:
    """Yields each option's name and value, as the command line would have it."""
    from perfprobe.cli import module

    checker: Parser = module("run").parser()
    seen = set()
    for number, key, value in _rows(path, text):
        where = f"{path}:{number}"
        if key in seen:
            raise UsageError(f"{key} is there twice in {_TABLE}", where, "leave one out")
        seen.add(key)
        known = {flag.lstrip("-"): option for flag, option in checker.declared.items()}
        if key == "quiet":
            _check_type(key, value, (bool,), where)
            yield "quiet", value
        elif key in known:
            yield known[key].name, _read(checker, known[key], value, where)
        else:
            remedy = suggestion(key, [*known, "quiet"], "`perfprobe --help all` lists the options")
            if f"--{key}" in checker._option_string_actions or key in ("calls", "plot"):
                remedy = "give it on the command line"
            raise UsageError(f"there is no option {key!r} in {_TABLE}", where, remedy)


def _rows(path: str, text: str) -> Iterator[tuple[int, str, Any]]:
    """Yields number, key and value of each row of the table."""
    inside = False
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        where = f"{path}:{number}"
        header = _HEADER.match(line)
        if header is not None:
            if re.sub(r"\s", "", header[0]) != _TABLE:
                raise UsageError(f"{header[0].strip()} is not read", where, f"only {_TABLE} is")
            inside = True
        elif line.lstrip().startswith("["):
            inside = False
        elif inside and _EMPTY.fullmatch(line) is None:
            row = _ROW.fullmatch(line)
            if row is None:
                remedy = 'write a key and a "text", a number, true or false on each line'
                raise UsageError(f"this line of {_TABLE} cannot be read", where, remedy)
            yield number, _unquoted(row["key"]), _value(row)


def _value(row: re.Match[str]) -> Any:
    if row["switch"] is not None:
        return row["switch"] == "true"
    if row["whole"] is not None:
        return int(row["whole"].replace("_", ""))
    if row["number"] is not None:
        return float(row["number"].replace("_", ""))
    return _unquoted(row["basic"] or row["literal"])


def _unquoted(text: str) -> str:
    """The value of a TOML string, or of a key."""
    if text[0] == "'":
        return text[1:-1]
    if text[0] != '"':
        return text
    return _ESCAPED.sub(_letter, text[1:-1])


def _letter(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code is None:
        return _LETTERS.get(escape[3], escape[3])
    return chr(min(int(code, 16), 0x10FFFF))


def _read(checker: Parser, option: Option, value: Any, where: str) -> Any:
    """The value as the command line's parser makes it. Raises UsageError."""
    flag = option.flag
    kinds: tuple[type, ...] = _OF_KINDS.get(option.kind, (str,))
    if option.default is False:
        kinds = (bool,)
    elif option.default is True or option.alone is not None:
        kinds = (bool, str)
    _check_type(flag.lstrip("-"), value, kinds, where)
    if option.default is False:
        return value
    if option.kind == "folder" and value:
        value = os.path.join(os.path.dirname(where), value)
    if isinstance(value, bool):
        value = option.checked(value) if option.alone is not None else "on" if value else "off"
    try:
        return getattr(checker.parse_args([f"{flag}={value}"]), option.name)
    except UsageError as error:
        raise UsageError(f"in {_TABLE}: {error.what}", where, error.remedy) from error


def _check_type(key: str, value: Any, kinds: tuple[type, ...], where: str) -> None:
    if type(value) not in kinds:
        wanted = " or ".join(_TYPES[kind] for kind in kinds)
        raise UsageError(f"{key} in {_TABLE} is {dumps(value)}", where, f"give it {wanted}")
