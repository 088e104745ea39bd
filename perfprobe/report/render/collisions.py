"""Shortens signatures in another way if the usual way would make two different rows look the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfprobe.report import shorten
from perfprobe.report.render.columns import Placed

_BESIDE = ("operator", "line", "phase")  # other columns that distinguish rows
_SKIPPED = f"{shorten.ELLIPSIS} "
_SKIPPED_WITHIN = shorten.ELLIPSIS  # for omitted text that ends inside an argument
_ROOM = 5  # cells for the omission mark, a blank, the difference and an ellipsis
_MOST_ROUNDS = 8  # each round shows one more difference between rows that still look the same


def told_apart(placed: Sequence[Placed], full: Sequence[str]) -> list[Placed]:
    """The columns, with signatures cut in another place for rows that would otherwise look the same.

    Args:
        full: the whole signature of every row.
    """
    shown = {column.shows: column.shortened(width) for column, width in placed}
    if "signature" not in shown:
        return list(placed)
    beside = list(zip(*(shown[title] for title in _BESIDE if title in shown), strict=True))
    found = []
    for column, width in placed:
        cells = _distinct(column.cells, full, beside, width) if column.shows == "signature" else column.cells
        found.append(Placed(replace(column, cells=cells), width))
    return found


def _distinct(
    cells: Sequence[str], full: Sequence[str], beside: Sequence[tuple[str, ...]], width: int
) -> list[str]:
    """The cells cut to the width, so that rows with different texts look different."""
    texts = list(cells)  # each row shows the beginning of its text
    cut = [shorten.cut(text, width) for text in texts]
    for _ in range(_MOST_ROUNDS):
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, key in enumerate(beside):
            groups.setdefault((*key, cut[row]), []).append(row)
        alike = [rows for rows in groups.values() if len({full[row] for row in rows}) > 1]
        if not alike:
            break
        for rows in alike:
            _show_difference([texts, cut], full, rows, width)
    return cut


def _show_difference(columns: list[list[str]], full: Sequence[str], rows: Sequence[int], width: int) -> None:
    """Cut the common beginning of the texts of these rows."""
    texts, cut = columns
    if len({texts[row] for row in rows}) == 1:  # a list or strides left out made them equal
        for row in rows:
            texts[row] = full[row]
    at = _first_difference(min(texts[row] for row in rows), max(texts[row] for row in rows))
    start, mark = _start_of_item(texts[rows[0]], at), _SKIPPED
    if at - start > width - _ROOM:  # the argument itself is too long to be shown from its start
        start, mark = max(at - width // 2, 0), _SKIPPED_WITHIN
    for row in rows:
        texts[row] = texts[row][start:]
        cut[row] = shorten.cut(f"{mark if start else ''}{texts[row]}", width)


def _first_difference(least: str, greatest: str) -> int:
    """Returns where the smallest and the largest text first differ: no two texts differ before that."""
    pairs = zip(least, greatest, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(least))


def _start_of_item(text: str, at: int) -> int:
    """Returns where the argument that contains this place begins."""
    items = shorten.split(text[:at], " ")
    return at - len(items[-1]) if items and not text[:at].endswith(" ") else at
