"""What an export yields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import AnyStr, NamedTuple

# Formats that have the time of the steps, or of the run.
BY_TIME = ("speedscope", "collapsed", "pprof")
_PIECE = 1 << 16  # characters or bytes of a piece, about


class Exported(NamedTuple):
    """The content of a file. parts: can be read once, and are made while they are read.

    notes: what a reader must know about its figures.
    """

    parts: Iterator[bytes]
    notes: list[str]


def pieces(texts: Iterable[str]) -> Iterator[bytes]:
    """The texts joined and encoded, in pieces large enough to be written efficiently."""
    return (text.encode("utf-8", "replace") for text in joined(texts, ""))


def joined(parts: Iterable[AnyStr], nothing: AnyStr) -> Iterator[AnyStr]:
    """Texts, or bytes, in pieces large enough to be written efficiently. nothing: an empty one."""
    some: list[AnyStr] = []
    length = 0
    for part in parts:
        some.append(part)
        length += len(part)
        if length >= _PIECE:
            yield nothing.join(some)
            some, length = [], 0
    yield nothing.join(some)


def separated(texts: Iterable[str], separator: str) -> Iterator[str]:
    """The texts with the separator between them."""
    before = ""
    for text in texts:
        yield before + text
        before = separator
