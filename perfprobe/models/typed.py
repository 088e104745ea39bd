"""Reads inputs as reports print them: the inverse of `report.shorten`."""

from __future__ import annotations

import re

from perfprobe.models.signature import LONGEST_LIST
from perfprobe.models.work.touched import contiguous

CUT_SHORT = ("…", "...")  # marks of what reports leave out
_TRANSPOSED = re.compile(r"(?<![\w.\"])([a-z]\w*)\[(\d{1,19}(?:,\d{1,19})+)\]\.T(?!\w)", re.ASCII)
_REPEATED = re.compile(r"\((\d{1,4})x ([^()]+)\)", re.ASCII)


def written_out(text: str) -> str:
    """Writes out the strides of `f32[64,128].T` and all elements of `(62x f32[9,4])`."""
    return _REPEATED.sub(_elements, _TRANSPOSED.sub(_strided, text))


def is_cut_short(text: str) -> bool:
    """Whether something is left out of the text."""
    return any(mark in text for mark in CUT_SHORT)


def is_short_for(typed: str, text: str) -> bool:
    """Whether `text` matches `typed`, with any text in place of what was left out."""
    for mark in CUT_SHORT:
        typed = typed.replace(mark, "\0")
    return re.fullmatch(".*".join(map(re.escape, typed.split("\0"))), text) is not None


def _strided(match: re.Match[str]) -> str:
    """Writes the strides of a contiguous tensor whose last two dimensions are swapped."""
    *batch, rows, columns = map(int, match[2].split(","))
    *outer, by_column, by_row = contiguous((*batch, columns, rows))
    strides = (*outer, by_row, by_column)
    return f"{match[1]}[{match[2]}]{{{','.join(map(str, strides))}}}"


def _elements(match: re.Match[str]) -> str:
    return f"({','.join([match[2]] * min(int(match[1]), LONGEST_LIST + 1))})"
