"""What the commands' options share: a parser whose errors are one line, and the types of values."""

from __future__ import annotations

import argparse
import os
import re

from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.view import COLUMNS, GROUPS, SORTS, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

PROGRAM_OPTIONS = ("-m", "-c")  # of `run`: what follows one of them is the program, and its words
_WIDTH = 200  # where there is no terminal to ask
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that keeps our line breaks. Told its width, argparse need not load shutil to find one."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(width(), 80))


class Parser(argparse.ArgumentParser):
    """argparse with errors as `UsageError`, and with options that must stand before the first plain word."""

    def __init__(self, name: str, **texts: str) -> None:
        super().__init__(
            prog=f"perfprobe {name}",
            formatter_class=Formatter,
            allow_abbrev=False,
            **texts,  # type: ignore[arg-type]
        )

    def error(self, message: str) -> NoReturn:
        """Called by argparse."""
        raise UsageError(message, "", f"see `{self.prog} --help`")

    def valued(self) -> set[str]:
        """The options that take a value."""
        return {name for action in self._actions if action.nargs is None for name in action.option_strings}

    def _may_follow(self) -> dict[str, set[str]]:
        """The words that each option takes that also stands alone."""
        found = [action for action in self._actions if action.nargs == "?" and action.choices]
        return {name: set(action.choices or ()) for action in found for name in action.option_strings}

    def split(self, words: Sequence[str], last: tuple[str, ...]) -> int:
        """How many words are options of ours: those before the first plain word, `--`, or one of `last`."""
        valued, may_follow = self.valued(), self._may_follow()
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


def add_table_options(parser: Parser) -> None:
    """What `view` reads: which rows the tables have, and which columns."""
    parser.add_argument("--top", type=rows, metavar="N", help="show the N first rows, 0 for all")
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="self",
        help="what to order rows by (default: %(default)s); of a line or module only self, total, calls "
        "and gpu (self time on GPUs, where they were recorded)",
    )
    parser.add_argument(
        "--group",
        choices=GROUPS,
        default="row",
        help="what a row is (default: operator, signature, line and phase)",
    )
    parser.add_argument(
        "--focus", metavar="REGEX", help="only rows whose operator, signature, line, module or phase matches"
    )
    parser.add_argument(
        "--columns", choices=COLUMNS, default="short", help="autograd: those of torch's own table; all"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--source",
        metavar="DIR",
        help="the folder with the program's files (default: where they were; of another user's or another "
        "host's recording only below the current folder)",
    )
    source.add_argument(
        "--no-source", dest="source", action="store_const", const="", help="print no source lines"
    )


def view(given: argparse.Namespace) -> View:
    """What the words ask for.

    Raises:
        UsageError: the focus is no regular expression, or the folder with the source is none.
    """
    source = given.source
    if source is not None and source and not os.path.isdir(source):
        raise UsageError("there is no such folder", source, "name the folder with the program's files")
    return View(given.top, given.sort, given.group, given.focus, given.columns, source)


def width() -> int:
    """Columns to print: COLUMNS, else those of the terminal on standard output, else 200."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return _WIDTH


def colored() -> bool:
    """Whether standard output is a terminal whose user did not ask for plain text (https://no-color.org)."""
    return os.isatty(1) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def rows(text: str) -> int:
    """A whole number, 0 or more."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


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


def absolute(path: str) -> str:
    """The absolute path of a file.

    Raises:
        EnvironmentLack: it lies in the current folder, and somebody has removed that.
    """
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise EnvironmentLack("the current folder is gone", path, "give the file's whole path") from error


def writable(path: str) -> str:
    """The absolute path of a file that can be written later; checked now, before hours of running.

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
