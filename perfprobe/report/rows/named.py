"""What is large enough to be named in a sentence. It is a matter of room: nothing is judged by it."""

from __future__ import annotations

_NAMED = 0.05
_NEARLY_ALL = 0.9


def is_named(part: float, whole: float = 1) -> bool:
    """Whether a part of a whole is named; smaller ones are not."""
    return part >= _NAMED * whole


def is_nearly_all(part: float, whole: float) -> bool:
    """Whether a part stands for the whole, so that others are not named."""
    return part >= _NEARLY_ALL * whole
