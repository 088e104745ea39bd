"""Options, each declared once.

Command lines, `profile()`, child processes, recordings and the reference derive from the declarations.
"""

from __future__ import annotations

from perfprobe.support.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Where an option can be given, and where its value is stored.
COMMAND_LINE = "command line"
PYTHON = "Python"  # an argument of `profile()` or `report()`
CHILDREN = "child processes"
RECORDING = "recording"  # its meta value `recording`, which JSON has too
JSON = "JSON"  # its value `view`


class Option:
    """One option, declared as an attribute of a subclass of `Chosen`. The attribute's name is the option's.

    Args:
        default: the value if it is not given. True and False make a switch.
        help: what it does, as `--help` prints it. `%(default)s` stands for the default.
        values: the allowed values; empty if `kind` says what is allowed.
        called: what one of `values` is called in an error.
        kind: what the command line accepts besides `values`: "rows" or "steps" (integers from
            0 or from 1), "window" (of steps, `10:30`), "seconds" (`90s`, `3m`), "size" (bytes), "percent",
            "share" (`5%`), "pattern" (a regular expression), "names" or "folder".
        flag: its name on the command line; "" for the attribute's name.
        alone: the value if the flag has no word on the command line, and for True in Python.
        without: another flag that stands for a value: flag, value and help.
        gone: values that no longer exist, each with its replacement.
        aliases: words of other tools, each with its value, which need not be one of `values`.
        places: where it can be given and is stored; () for the places of its class.
        brief: its text in the short `--help`, of at most 54 letters; None for that of `--help all`; "" if
            only that has the option.
        heading: the heading of `--help` under which it stands; "" for that of its class.
    """

    def __init__(  # noqa: PLR0913 (each is a separate fact)
        self,
        default: Any,
        help: str,
        *,
        values: Sequence[str] = (),
        called: str = "",
        kind: str = "",
        flag: str = "",
        alone: str | None = None,
        without: tuple[str, str, str] | None = None,
        gone: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        places: Sequence[str] = (),
        brief: str | None = "",
        heading: str = "",
    ) -> None:
        self.name = ""
        self.default = default
        self.help = help
        self.values = values
        self.called = called
        self.kind = kind
        self.flag = flag
        self.alone = alone
        self.without = without
        self.gone = gone or {}
        self.aliases = aliases or {}
        self.places = places
        self.brief = help if brief is None else brief
        self.heading = heading

    def __set_name__(self, owner: type[Chosen], name: str) -> None:
        self.name = name
        self.flag = self.flag or f"--{name.replace('_', '-')}"
        self.places = self.places or owner.places
        self.heading = self.heading or owner.heading

    def checked(self, value: object) -> object:
        """Returns the value. Raises UsageError if it is not allowed."""
        if self.alone is not None and isinstance(value, bool):
            value = self.alone if value else self.default
        if isinstance(value, str):
            value = self.aliases.get(value, value)
        if value is self.default or not self.values or value in self.aliases.values():
            return value
        if isinstance(value, str) and value in self.gone:
            raise UsageError(f"{self.flag} {value} was removed", "", self.gone[value])
        if not isinstance(value, str) or value not in self.values:
            raise UsageError(f"there is no {self.called} {value!r}", "", self.remedy(value))
        return value

    def remedy(self, value: object) -> str:
        """Returns what to give in place of a value that is not allowed."""
        from perfprobe.support.nearest import suggestion

        known = (*self.values, *self.aliases)
        return suggestion(str(value), known, f"choose from {', '.join(self.values)}")


def option(default: Any, help: str, **facts: Any) -> Any:
    """Makes an `Option`. To type checkers it has the type of the attribute."""
    return Option(default, help, **facts)


class Chosen:
    """A value for each option that the class declares: given by keyword, else the default.

    Raises:
        UsageError: a value is not allowed.
    """

    places: Sequence[str] = ()
    heading = "options"

    def __init__(self, **given: Any) -> None:
        options = declared(type(self))
        for one in options:
            setattr(self, one.name, one.checked(given.pop(one.name, one.default)))
        if given:
            names = ", ".join(one.name for one in options)
            raise TypeError(f"there is no option {', '.join(given)}; there are {names}")

    def of(self, place: str) -> dict[str, Any]:
        """Returns the values of all options of this place, by name."""
        return {one.name: getattr(self, one.name) for one in declared(type(self), place)}


def declared(kind: type[Chosen], place: str = "") -> list[Option]:
    """Returns the options that this class declares, in order; with a place, only those of this place."""
    found = [value for value in vars(kind).values() if isinstance(value, Option)]
    return [one for one in found if not place or place in one.places]
