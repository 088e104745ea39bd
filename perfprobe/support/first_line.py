"""The text after the name of a function of which only the first line is known."""

from __future__ import annotations

FIRST_LINE = " (its first line)"


def bare(function: str) -> str:
    """Returns the name of a function without that text."""
    return function.removesuffix(FIRST_LINE)
