"""What an export yields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_PIECE = 1 << 16  # characters of a piece, about


class Exported(NamedTuple):
    """The content of a file. parts: can be read once, and are made while they are read.

    notes: what a reader must know about its figures.
    """

    parts: Iterator[bytes]
    notes: list[str]


def pieces(texts: Iterable[str]) -> Iterator[bytes]:
    """The texts joined and encoded, in pieces large enough to be written efficiently."""
    some: list[str] = []
    letters = 0
    for text in texts:
        some.append(text)
        letters += len(text)
        if letters >= _PIECE:
            yield "".join(some).encode("utf-8", "replace")
            some, letters = [], 0
    yield "".join(some).encode("utf-8", "replace")


def separated(texts: Iterable[str], separator: str) -> Iterator[str]:
    """The texts with the separator between them."""
    before = ""
    for text in texts:
        yield before + text
        before = separator
