"""Commands and options as Markdown and as words, made from the parsers and declarations of the commands."""

from __future__ import annotations

import argparse

from perfprobe.support.option import COMMAND_LINE, PYTHON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfprobe.cli.options import Parser
    from perfprobe.support.option import Option
    from perfprobe.words import Word

_HEAD = ("option", "values", "default", "argument in Python", "also goes to", "what it does")


def markdown() -> str:
    """A table for each command: its options with values, defaults, and the same argument in Python.

    Options for recording are arguments of `perfprobe.profile()`, those for tables of its `report()`.
    """
    from perfprobe.cli import COMMANDS, module

    return "\n".join(
        line
        for name, (_, summary) in COMMANDS.items()
        for line in _section(name, summary, module(name).parser())
    )


def words() -> list[Word]:
    """Commands, options, and values that only options have, each with its text of `--help`."""
    from perfprobe.cli import COMMANDS, module
    from perfprobe.words import Word

    found = [
        Word(name, "command", _sentence(summary), guide="options") for name, (_, summary) in COMMANDS.items()
    ]
    places: dict[tuple[tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
    for name in COMMANDS:
        for action in module(name).parser()._actions:
            values = tuple(map(str, action.choices or ()))
            places.setdefault((tuple(action.option_strings), _help(action), values), []).append(name)
    for (flags, text, values), commands in places.items():
        found += _of_option(flags, _sentence(text), values, f"perfprobe {', '.join(commands)}")
    return found


def _of_option(flags: Sequence[str], text: str, values: Sequence[str], of: str) -> Iterator[Word]:
    from perfprobe.words import Word, listed

    if flags:
        bare = (flag.lstrip("-") for flag in flags)
        yield Word(flags[-1], "option", text, of, (*flags[:-1], *bare), "options")
    names = {word.name for word in listed()}
    option = f"{flags[-1]} ({of})" if flags else of
    yield from (Word(value, "value", text, option, guide="options") for value in values if value not in names)


def _sentence(text: str) -> str:
    return f"{text.removesuffix('.')}."


def _help(action: argparse.Action) -> str:
    return (action.help or "") % vars(action)


def _section(name: str, summary: str, parser: Parser) -> Iterator[str]:
    yield from (f"## perfprobe {name}", "", f"{summary[0].upper()}{summary[1:]}.", "")
    yield _row(_HEAD)
    yield _row(["---"] * len(_HEAD))
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            yield _row(_cells(action, parser.declared.get(" ".join(action.option_strings))))
    yield ""


def _cells(action: argparse.Action, option: Option | None) -> list[str]:
    """The cells for one option, or for plain words. option: its declaration if it has one."""
    values = list(action.choices or filter(None, [action.metavar]))
    default = (
        action.default if isinstance(action.default, str) and action.default != argparse.SUPPRESS else ""
    )
    places = option.places if option else ()
    return [
        ", ".join(_code(flag) for flag in action.option_strings) or "*words*",
        ", ".join(_code(value) for value in values),
        _code(default) if default else "",
        _code(option.name) if option and PYTHON in places else "",
        ", ".join(place for place in places if place not in (COMMAND_LINE, PYTHON)),
        _help(action),
    ]


def _code(word: object) -> str:
    return f"`{word}`"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
