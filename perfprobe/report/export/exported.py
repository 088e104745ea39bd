"""What an export yields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_PIECE = 1 << 16  # letters, about


class Exported(NamedTuple):
    """parts: the content of the file, made as it is read, once; notes: what one must know to read it."""

    parts: Iterator[bytes]
    notes: list[str]


def pieces(texts: Iterable[str]) -> Iterator[bytes]:
    """The texts one after the other, in pieces worth writing; none ends within a letter."""
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
