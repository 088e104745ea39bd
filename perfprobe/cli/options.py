"""What all commands share: a parser whose errors are one line, and the types of options' values."""

from __future__ import annotations

import argparse
import os
import re
from itertools import islice

from perfprobe.cli.help import ALL, Formatter, Help
from perfprobe.support.errors import EnvironmentLack, UsageError
from perfprobe.support.nearest import nearest, suggestion
from perfprobe.support.option import COMMAND_LINE, Chosen, Option, declared, option
from perfprobe.support.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, NoReturn

PROGRAM_OPTIONS = ("-m", "-c")  # in `run`, the program and its arguments follow one of these
_MOST_CHOICES = 8  # with more choices, usage shows a name in place of them
_MOST_FILES = 1000  # in which a similar name is looked for
_SWITCH = ("on", "off")  # the words for an option that is on unless it is switched off
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Parser(argparse.ArgumentParser):
    """argparse that raises `UsageError`, and that requires options before the first plain word.

    Attributes:
        declared: options by flag.
        briefs: texts of the short `--help`, by the name of the value; empty if `--help` prints all options.
    """

    def __init__(self, name: str, **texts: str) -> None:
        super().__init__(
            prog=f"perfprobe {name}",
            formatter_class=Formatter,
            allow_abbrev=False,
            add_help=False,
            **texts,  # type: ignore[arg-type]
        )
        self.declared: dict[str, Option] = {}
        self.briefs: dict[str, str] = {}
        self._headings = {"options": self._optionals}
        self.add_argument("-h", "--help", action=Help)

    def add(self, *flags: str, brief: str | None = "", heading: str = "", **named: Any) -> None:
        """Add an option or plain words. brief, heading: as `Option` has them. named: for argparse."""
        self._note(
            self.under(heading or "options").add_argument(*flags, **named),
            named["help"] if brief is None else brief,
        )

    def under(self, heading: str) -> argparse._ArgumentGroup:
        """The options below this heading of `--help`."""
        if heading not in self._headings:
            self._headings[heading] = self.add_argument_group(heading)
        return self._headings[heading]

    def _note(self, action: argparse.Action, brief: str) -> None:
        if brief:
            self.briefs[action.dest] = brief

    def add_declared(self, option: Option, in_short: bool = True) -> None:
        """Add an option from its declaration. in_short: whether the short `--help` may have it."""
        under: Any = self.under(option.heading)
        group = under.add_mutually_exclusive_group() if option.without else under
        named = {"dest": option.name, "help": option.help, **_taken(option)}
        self._note(group.add_argument(option.flag, **named), option.brief if in_short else "")
        if option.without:
            flag, value, text = option.without
            group.add_argument(flag, dest=option.name, action="store_const", const=value, help=text)
        self.declared[option.flag] = option

    def error(self, message: str) -> NoReturn:
        """Called by argparse."""
        raise UsageError(message, "", self._see_help())

    def parse_args(self, words: Any = None, namespace: Any = None) -> Any:
        """The values. Raises UsageError."""
        return self._all_known(*self.parse_known_args(words, namespace))

    def parse_intermixed_args(self, words: Any = None, namespace: Any = None) -> Any:
        """The values, with options between plain words. Raises UsageError."""
        return self._all_known(*self.parse_known_intermixed_args(words, namespace))

    def _all_known(self, given: Any, others: Sequence[str]) -> Any:
        for word in others:
            if word.startswith("-"):
                flag = word.partition("=")[0]
                known = self._option_string_actions
                raise UsageError("there is no option", flag, suggestion(flag, known, self._see_help()))
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return given

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Called by argparse with the value of an option that has `choices`."""
        if action.choices is None or value in action.choices:
            return
        of = "/".join(action.option_strings) or action.metavar or action.dest
        declared = self.declared.get(action.option_strings[0] if action.option_strings else "")
        known = ", ".join(map(str, action.choices))
        remedy = suggestion(str(value), map(str, action.choices), f"choose from {known}")
        if declared is not None and declared.values:
            remedy = declared.remedy(value)
        raise UsageError(f"argument {of}: invalid choice: {value!r}", "", remedy)

    def _see_help(self) -> str:
        return f"see `{self.prog} --help{f' {ALL}' if self.briefs else ''}`"

    def _valued(self) -> set[str]:
        """The options that take a value."""
        return {name for action in self._actions if action.nargs is None for name in action.option_strings}

    def _may_follow(self) -> dict[str, set[str]]:
        """Returns, for options that may stand alone, the words they take, with those of earlier versions."""
        found = [one for one in self.declared.values() if one.alone is not None]
        return {**{one.flag: {*one.values, *one.gone} for one in found}, "-h": {ALL}, "--help": {ALL}}

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


def add_options(parser: Parser, kind: type[Chosen], in_short: Collection[str] | None = None) -> None:
    """Add all options that this class declares for the command line. `chosen` reads their values.

    in_short: names of those that may be in the short `--help`; None for all.
    """
    for one in declared(kind, COMMAND_LINE):
        parser.add_declared(one, in_short is None or one.name in in_short)


class Output(Chosen):
    """How a command prints on standard output."""

    places = (COMMAND_LINE,)

    color: str = option(
        "auto",
        "when to print colours; auto (default): on a terminal, or as NO_COLOR and FORCE_COLOR say",
        values=("auto", "always", "never"),
        called="choice of colours",
    )


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
    if source and not os.path.isdir(source):
        raise missing(source, "folder", "name the folder with the program's files")
    return View(**chosen(given, View))


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
    "share": (str, "PERCENT%"),
    "pattern": (str, "REGEX"),
    "names": (str, "NAME"),
    "folder": (str, "DIR"),
}


def existing(path: str) -> str:
    """The path of a file to read. Raises UsageError if there is no such file."""
    if not os.path.lexists(path):
        raise missing(path, "file", "name a recording, or a trace of torch.profiler")
    return path


def missing(path: str, what: str, otherwise: str) -> UsageError:
    """The error that a named file or folder does not exist, with a similar name in the same folder."""
    folder, name = os.path.split(path)
    near = nearest(name, names_in(folder))
    remedy = otherwise if near is None else f"did you mean `{os.path.join(folder, near)}`?"
    return UsageError(f"there is no such {what}", path, remedy)


def names_in(folder: str, ending: str = "") -> list[str]:
    """The first names in a folder with this ending; none if it cannot be read."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            found = (entry.name for entry in entries if entry.name.endswith(ending))
            return list(islice(found, _MOST_FILES))
    except (OSError, ValueError):
        return []


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
