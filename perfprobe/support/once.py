"""Computes a value once for each argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Argument = TypeVar("Argument")
Value = TypeVar("Value")


def once(make: Callable[[Argument], Value]) -> Callable[[Argument], Value]:
    """Returns a function that calls `make` once for each argument, and keeps the value while that lives.

    Arguments are compared by identity, unless their type defines `__eq__`.
    """
    known: WeakKeyDictionary[Argument, Value] = WeakKeyDictionary()

    @wraps(make)
    def made(argument: Argument) -> Value:
        if argument not in known:
            known[argument] = make(argument)
        return known[argument]

    return made
