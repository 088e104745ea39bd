"""About how wide text is in a picture, before dot sets it: enough to see which boxes fit side by side."""

from __future__ import annotations

# Widths of Arial's letters, in parts of the size of the font. Others are as wide as a digit.
_WIDTHS = {letter: 0.25 for letter in "ijl.,:;'|![]()/ ft"}
_WIDTHS |= {letter: 0.70 for letter in "ABCDEFGHKNOPQRSTUVXYZ_"} | {letter: 0.85 for letter in "MWmw%@…"}
_BOLD = 1.07
_DIGIT = 0.556


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width in points."""
    letters = sum(_WIDTHS.get(letter, _DIGIT) for letter in text)
    return letters * size * (_BOLD if bold else 1.0)
