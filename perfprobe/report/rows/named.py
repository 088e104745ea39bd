"""How small a part of a whole may be to be shown. It is a matter of room: nothing is judged by it."""

from __future__ import annotations

IN_SENTENCE = 0.05
OF_CAUSES = 0.1  # a cause among several
OF_NOTE = 0.01  # a note below a table
OF_TABLE = 0.02  # a table, or a row of a short one
OF_ROW = 0.005  # a row of a long table, or a column
OF_SCREEN = 0.001  # a row of the first screen
_NEARLY_ALL = 0.9


def is_named(part: float, whole: float = 1, least: float = IN_SENTENCE) -> bool:
    """Whether a part of a whole is large enough to be shown."""
    return part >= least * whole


def is_nearly_all(part: float, whole: float) -> bool:
    """Whether a part stands for the whole, so that others are not named."""
    return part >= _NEARLY_ALL * whole
