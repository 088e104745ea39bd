"""`--help` prints the options that are used most, under headings; `--help all` prints all options."""

from __future__ import annotations

import argparse

from perfprobe.cli.terminal import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALL = "all"
_FIRST_EXAMPLES = 3  # lines of the examples that the short help has, with their title
_VALUES_ROOM = 22  # columns for an option's name and values in the short help
_CUT = "`{0} --help all` has every option and more examples."


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


class _Choices(tuple[str, ...]):
    """The word after `--help` for completion. Any other word is accepted: it asks for help too."""

    def __contains__(self, _word: object) -> bool:
        return True


class Help(argparse._HelpAction):
    """`--help [all]`."""

    def __init__(self, option_strings: Any, dest: str, **_named: Any) -> None:
        super().__init__(option_strings, dest, default=argparse.SUPPRESS)
        self.nargs = "?"
        self.choices = _Choices([ALL])
        self.metavar = ALL
        self.help = "print help; with all: on every option"

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Called by argparse. The parser is not used again."""
        briefs: dict[str, str] = getattr(parser, "briefs", {})
        if briefs and values != ALL:
            _shorten(parser, briefs)
        super().__call__(parser, namespace, values, option_string)


def _shorten(parser: argparse.ArgumentParser, briefs: dict[str, str]) -> None:
    """Keep what the short help has: options with a brief text, and the first examples."""
    for action in parser._actions:
        action.help = briefs.get(action.dest, argparse.SUPPRESS)
        values = ",".join(map(str, action.choices or ()))
        if len(" ".join(action.option_strings)) + len(values) > _VALUES_ROOM:
            action.metavar = action.metavar or "NAME"
    first = (parser.epilog or "").splitlines()[:_FIRST_EXAMPLES]
    parser.epilog = "\n".join([*first, _CUT.format(parser.prog)])
