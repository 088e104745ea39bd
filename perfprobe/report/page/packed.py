"""What a page knows: a head as JSON, and columns of numbers behind it, compressed and as text."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.report import shorten
from perfprobe.support.text import printable

LONGEST = 1000  # characters of a text: names may have any length
_ALIGNED = 8  # a typed array begins at a multiple of its size
_GZIP_LEVEL, _GZIP_BITS = 9, 31
_PIECE = 3 << 15  # bytes that become text at a time: a multiple of three, as four letters are three bytes
_KINDS = (("u1", 1 << 8), ("u2", 1 << 16), ("u4", 1 << 32))


class Packed:
    """Columns of whole numbers, each in the smallest type that holds it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._bytes = 0

    def column(self, values: npt.ArrayLike) -> dict[str, Any]:
        """Adds a column. Returns where it is: type, first byte and length."""
        numbers = np.asarray(values)
        kind = _kind(numbers)
        data = np.ascontiguousarray(numbers, dtype=np.dtype(kind).newbyteorder("<")).tobytes()
        place = {"type": kind, "at": self._bytes, "length": len(numbers)}
        data += bytes(-len(data) % _ALIGNED)
        self._parts.append(data)
        self._bytes += len(data)
        return place

    def texts(self, head: Mapping[str, Any]) -> Iterator[str]:
        """The head and all columns: gzip in base64."""
        made = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_BITS)
        left = b""
        for part in _with_end(self._whole(head)):
            left += made.flush() if part is None else made.compress(part)
            whole = len(left) if part is None else len(left) // _PIECE * _PIECE
            if whole:
                yield base64.b64encode(left[:whole]).decode()
                left = left[whole:]

    def _whole(self, head: Mapping[str, Any]) -> Iterator[bytes]:
        text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % _ALIGNED)
        yield len(text).to_bytes(_ALIGNED, "little")
        yield text
        yield from self._parts


class Texts:
    """Texts, each once, by number in the order in which they were first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text from outside: printable, and cut if it is too long to be read."""
        return self._known.setdefault(shown(text), len(self._known))

    def all(self) -> Sequence[str]:
        """The texts in the order of their numbers."""
        return list(self._known)


def shown(text: str, longest: int = LONGEST) -> str:
    """A text from outside as a page has it: on one line, nothing acts on the page, and never too long."""
    return shorten.cut(printable(text[: longest + 1]), longest)


def _with_end(parts: Iterator[bytes]) -> Iterator[bytes | None]:
    yield from parts
    yield None


def _kind(numbers: npt.NDArray[Any]) -> str:
    if len(numbers) == 0:
        return "u1"
    least, most = int(numbers.min()), int(numbers.max())
    if least < 0:
        return "i4" if max(-least, most) < 1 << 31 else "f8"
    return next((kind for kind, limit in _KINDS if most < limit), "f8")
