"""What all commands share: a parser whose errors are one line, and the types of options' values."""

from __future__ import annotations

import argparse
import os
import re

from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.option import COMMAND_LINE, Chosen, Option, declared
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, NoReturn

PROGRAM_OPTIONS = ("-m", "-c")  # in `run`, the program and its arguments follow one of these
_MOST_CHOICES = 8  # with more choices, usage shows a name in place of them
_WIDTH = 200  # if there is no terminal to ask
_SWITCH = ("on", "off")  # the words for an option that is on unless it is switched off
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that keeps our line breaks. It sets the width, so that argparse does not import shutil for it.

    From 3.14 on, argparse makes a formatter for each parser, to check its options, and imports dataclasses
    and inspect for the colours. So these are chosen when they are first used.
    """

    def __init__(self, prog: str, **named: object) -> None:
        super().__init__(prog, max_help_position=26, width=min(width(), 80), **named)  # type: ignore[arg-type]

    def _set_color(self, *color: Any) -> None:
        self._color = color

    def __getattr__(self, name: str) -> Any:
        if name not in ("_theme", "_decolor"):
            raise AttributeError(name)
        super()._set_color(*self._color)  # type: ignore[misc]
        return self.__dict__[name]


class Parser(argparse.ArgumentParser):
    """argparse that raises `UsageError`, and that requires options before the first plain word."""

    def __init__(self, name: str, **texts: str) -> None:
        super().__init__(
            prog=f"perfprobe {name}",
            formatter_class=Formatter,
            allow_abbrev=False,
            **texts,  # type: ignore[arg-type]
        )
        self.declared: dict[str, Option] = {}  # by flag

    def error(self, message: str) -> NoReturn:
        """Called by argparse."""
        raise UsageError(message, "", f"see `{self.prog} --help`")

    def _valued(self) -> set[str]:
        """The options that take a value."""
        return {name for action in self._actions if action.nargs is None for name in action.option_strings}

    def _may_follow(self) -> dict[str, set[str]]:
        """Returns, for options that may stand alone, the words they take, with those of earlier versions."""
        found = [one for one in self.declared.values() if one.alone is not None]
        return {one.flag: {*one.values, *one.gone} for one in found}

    def split(self, words: Sequence[str], last: tuple[str, ...]) -> int:
        """Returns the number of words for perfprobe: up to the first plain word, `--`, or one of `last`."""
        valued, may_follow = self._valued(), self._may_follow()
        place = 0
        while place < len(words):
            word = words[place]
            if word in ("-", "--") or not word.startswith("-") or word.startswith(last):
                return place
            has_word = word in valued or not may_follow.get(word, set()).isdisjoint(
                words[place + 1 : place + 2]
            )
            place += 2 if has_word else 1
        return min(place, len(words))


def add_options(parser: Parser, kind: type[Chosen]) -> None:
    """Add all options that this class declares for the command line. `chosen` reads their values."""
    for option in declared(kind, COMMAND_LINE):
        group = parser.add_mutually_exclusive_group() if option.without else parser
        group.add_argument(option.flag, dest=option.name, help=option.help, **_taken(option))
        if option.without:
            flag, value, text = option.without
            group.add_argument(flag, dest=option.name, action="store_const", const=value, help=text)
        parser.declared[option.flag] = option


def _taken(option: Option) -> dict[str, Any]:
    """The arguments with which argparse reads the option's value."""
    if option.default is False:
        return {"action": "store_true"}
    if option.default is True:
        return {"choices": _SWITCH, "default": _SWITCH[0]}
    taken: dict[str, Any] = {"default": option.default}
    if option.kind:
        taken["type"], taken["metavar"] = _KINDS[option.kind]
    if option.kind == "size":
        taken["default"] = f"{option.default // _SCALES['M']}M"  # argparse converts it like a given word
    if option.values:
        taken |= _choices(option)
    if option.gone:
        taken["type"] = lambda word: option.checked(word) if word in option.gone else word
    if option.alone is not None:
        taken |= {"nargs": "?", "const": option.alone}
    return taken


class _Words(tuple[str, ...]):
    """The values of an option that help, errors and completion name. Other words are accepted too."""

    others: Collection[str] = ()

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or word in self.others


def _choices(option: Option) -> dict[str, Any]:
    """The words that the option takes; if there are many, only the help text lists them."""
    words = _Words(option.values)
    words.others = option.aliases
    return {"choices": words, **({"metavar": "NAME"} if len(words) > _MOST_CHOICES else {})}


def chosen(given: argparse.Namespace, kind: type[Chosen]) -> dict[str, Any]:
    """The values of the options that this class declares, by name."""
    found = {option.name: getattr(given, option.name) for option in declared(kind, COMMAND_LINE)}
    switches = [option.name for option in declared(kind, COMMAND_LINE) if option.default is True]
    return {**found, **{name: found[name] == _SWITCH[0] for name in switches}}


def view(given: argparse.Namespace) -> View:
    """The view that the command line requests.

    Raises:
        UsageError: the focus is not a regular expression, or the folder with the source does not exist.
    """
    source = given.source
    if source is not None and source and not os.path.isdir(source):
        raise UsageError("there is no such folder", source, "name the folder with the program's files")
    return View(**chosen(given, View))


def width() -> int:
    """Columns to print: COLUMNS, otherwise those of the terminal on standard output, otherwise 200."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH


def colored() -> bool:
    """Whether standard output is a terminal, and NO_COLOR (https://no-color.org) is not set."""
    return os.isatty(1) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def rows(text: str) -> int:
    """A whole number, 0 or more."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def seconds(text: str) -> float:
    """A time, `90`, `90s`, `3m` or `1h`, in seconds, 0 or more."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 90s or 3m")
    return float(found[1]) * _SECONDS[found[2]]


def steps(text: str) -> int:
    """A whole number from 1 up."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def size(text: str) -> int:
    """A number of bytes: `33554432`, `32M`, `32MB`, `32MiB` (powers of 1024)."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 32M")
    return int(match[1]) * _SCALES[match[2].upper()]


# How the command line reads a value of each kind, and what `--help` calls it.
_KINDS = {
    "rows": (rows, "N"),
    "steps": (steps, "N"),
    "window": (str, "A:B"),
    "seconds": (seconds, "TIME"),
    "size": (size, "SIZE"),
    "percent": (float, "PERCENT"),
    "pattern": (str, "REGEX"),
    "names": (str, "NAME"),
    "folder": (str, "DIR"),
}


def absolute(path: str) -> str:
    """The absolute path of a file.

    Raises:
        EnvironmentLack: the path is relative, and the current folder was removed.
    """
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise EnvironmentLack("the current folder was removed", path, "give an absolute path") from error


def writable(path: str) -> str:
    """The absolute path of a file to be written later. It is checked now, before hours of running.

    Raises:
        UsageError: it is a folder.
        EnvironmentLack: its folder is missing or not writable.
    """
    whole = absolute(path)
    if os.path.isdir(whole):
        raise UsageError("the file to write is a folder", path, "name a file")
    folder = os.path.dirname(whole)
    if not os.path.isdir(folder):
        raise EnvironmentLack("the folder to write into does not exist", folder, "create it or name another")
    if not os.access(whole if os.path.exists(whole) else folder, os.W_OK):
        raise EnvironmentLack("the file cannot be written", path, "name a file elsewhere")
    return whole
