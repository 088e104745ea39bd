"""A change while it is on: how often it was applied, where first, and what it replaced."""

from __future__ import annotations

import sys
from functools import WRAPPER_ASSIGNMENTS

from perfprobe.collect.place import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Change:
    """What a patch works with.

    Attributes:
        word: as it was typed.
        value: what followed =.
        times: how often it was applied.
        place: file, line and function where it was applied first; {} if it was not.
    """

    def __init__(self, word: str, value: str, libraries: str) -> None:
        self.word, self.value = word, value
        self.times = 0
        self.place: dict[str, object] = {}
        self._libraries = libraries
        self._replaced: list[tuple[Any, str, object, object]] = []

    def applied(self) -> None:
        """Counts. The line is that of the program that runs now."""
        self.times += 1
        if self.times == 1:
            self.place = place_of(sys._getframe(1), self._libraries)

    def replace(self, holder: Any, name: str, made: Callable[..., object]) -> None:
        """Puts a function in place of one of torch's, which it calls and whose name and arguments it has."""
        original = vars(holder)[name]
        for each in WRAPPER_ASSIGNMENTS:
            if hasattr(original, each):
                setattr(made, each, getattr(original, each))
        made.__wrapped__ = original  # type: ignore[attr-defined]
        setattr(holder, name, made)
        self._replaced.append((holder, name, original, made))

    def undo(self) -> None:
        """Puts torch's functions back, except where somebody else has replaced ours."""
        for holder, name, original, made in reversed(self._replaced):
            if vars(holder).get(name) is made:
                setattr(holder, name, original)
        self._replaced.clear()


def arguments(function: Any) -> tuple[str, ...]:
    """The names of all arguments of a function that may have been replaced."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names
