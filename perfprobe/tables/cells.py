"""Cells of a notebook by their number, as notebooks show them: `In [3]`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from perfprobe.tables.columns import TEXT, Text
from perfprobe.tables.strings import Strings

CELL = "In ["
_NUMBERED = re.compile(r"<ipython-input-(\d+)-\w*>")  # before IPython 8
_MOST = 1_000_000


def with_cells(text: Text, numbers: Any) -> Strings:
    """These texts, with `In [3]` for the file of a cell. numbers: by file, as recorded; None if none were."""
    known, texts = numbers if isinstance(numbers, dict) else {}, text.tolist()
    if known or any(each.startswith("<ipython-input-") for each in texts):
        text = np.array([_cell(each, known) for each in texts], TEXT)
    return Strings(text=text)


def _cell(text: str, known: dict[str, Any]) -> str:
    number, named = known.get(text), _NUMBERED.fullmatch(text)
    if type(number) is int and 0 <= number <= _MOST:
        return f"{CELL}{number}]"
    return f"{CELL}{named[1]}]" if named is not None else text
