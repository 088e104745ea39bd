"""Reads the part of the `marshal` format that profiles of cProfile use.

`marshal.loads` may crash the interpreter on untrusted bytes, so it is not used. This reads versions 2 to 5
of the format (https://github.com/python/cpython/blob/main/Python/marshal.c). Only dicts, tuples, strings,
integers and floats may occur. References may only point to flat values, and tuples, items of dicts and
different strings are limited. So the result takes at most a constant and a few times the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

_MOST_IN_TUPLE = 5  # figures of a function
_MOST_ITEMS = 100_000  # of dicts, for a small file
_BYTES_AN_ITEM = 40  # larger files may have more; cProfile writes more than 50 for each
_MOST_STRINGS = 100_000  # different ones
_BYTES_A_STRING = 50
DEEPEST = 4  # levels of a profile: dict, tuple, dict, tuple

Value: TypeAlias = "int | float | str | tuple[Value, ...] | Pairs"

_REFERABLE = 0x80
_LONG = struct.Struct("<i")
_FLOAT = struct.Struct("<d")
_DIGIT = struct.Struct("<H")
_DIGIT_BITS = 15
_MOST_DIGITS = 5  # 75 bits: more than any count has
_LONG_TEXTS = {ord("u"): "utf-8", ord("t"): "utf-8", ord("a"): "latin-1", ord("A"): "latin-1"}
_SHORT_TEXTS = (ord("z"), ord("Z"))
_NUMBERS = (ord("i"), ord("g"), ord("l"))
_DICT, _TUPLE, _SMALL_TUPLE = ord("{"), ord("("), ord(")")
_REFERENCE, _END = ord("r"), ord("0")


class MarshalError(Exception):
    """The data is damaged or of another type; the message says what is wrong."""


class Pairs(list["tuple[Value, Value]"]):
    """The items of a dict. Keys are not hashed before their types are checked."""


class Reader:
    """Reads one value.

    Args:
        data: the whole file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._seen: list[Value | None] = []  # targets of references, None while being read
        self._strings: dict[str, str] = {}
        self._items = 0

    def whole(self) -> Value:
        """Returns the value. Raises MarshalError for damaged or trailing data and for other types."""
        value = self._value(DEEPEST)
        self._end()
        return value

    def pairs(self) -> Iterator[tuple[Value, Value]]:
        """Yields the items of the dict that the data is, one after the other: together they may be large.

        Raises MarshalError like `whole`, and if the data is no dict.
        """
        mark = self._bytes(1)[0]
        if mark & ~_REFERABLE != _DICT:
            raise MarshalError("expected a dict")
        if mark & _REFERABLE:
            self._seen.append(None)
        yield from self._items_of(DEEPEST - 1)
        self._end()

    def _end(self) -> None:
        if self._at != len(self._data):
            raise MarshalError(f"trailing data after byte {self._at:,}")

    def _value(self, levels: int) -> Value:
        at = self._at
        mark = self._bytes(1)[0]
        kind = mark & ~_REFERABLE
        if kind == _REFERENCE:
            return self._referred()
        place = len(self._seen)
        if mark & _REFERABLE:
            self._seen.append(None)
        value = self._of_kind(kind, levels, at)
        if mark & _REFERABLE:
            self._seen[place] = value
        return value

    def _of_kind(self, kind: int, levels: int, at: int) -> Value:
        if kind in _SHORT_TEXTS:
            return self._string(self._bytes(self._bytes(1)[0]).decode("latin-1"))
        if kind in _NUMBERS:
            return self._number(kind)
        if kind in _LONG_TEXTS:
            return self._long_text(_LONG_TEXTS[kind])
        if kind not in (_DICT, _TUPLE, _SMALL_TUPLE):
            raise MarshalError(f"unknown type code {bytes([kind])!r} at byte {at:,}")
        if levels == 0:
            raise MarshalError(f"nested too deeply at byte {at:,}")
        if kind == _DICT:
            return Pairs(self._items_of(levels - 1))
        items = self._bytes(1)[0] if kind == _SMALL_TUPLE else self._size()
        if items > _MOST_IN_TUPLE:
            raise MarshalError(f"a tuple of {items:,} items at byte {at:,}")
        return tuple([self._value(levels - 1) for _ in range(items)])

    def _items_of(self, levels: int) -> Iterator[tuple[Value, Value]]:
        while self._peek() != _END:
            key = self._value(levels)
            yield key, self._value(levels)
            self._items += 1
            if self._items > _MOST_ITEMS + len(self._data) // _BYTES_AN_ITEM:
                raise MarshalError("more functions and callers than a file of this size has")
        self._at += 1

    def _referred(self) -> Value:
        place = self._long()
        value = self._seen[place] if 0 <= place < len(self._seen) else None
        parts = value if isinstance(value, tuple) else ()
        if (
            value is None
            or isinstance(value, Pairs)
            or any(isinstance(part, (tuple, Pairs)) for part in parts)
        ):
            raise MarshalError(f"invalid reference at byte {self._at - 5:,}")
        return value

    def _number(self, kind: int) -> int | float:
        if kind == ord("i"):
            return self._long()
        if kind == ord("g"):
            value: float = _FLOAT.unpack(self._bytes(8))[0]
            return value
        count = self._long()
        if abs(count) > _MOST_DIGITS:
            raise MarshalError(f"number too large at byte {self._at - 5:,}")
        digits = [_DIGIT.unpack(self._bytes(2))[0] for _ in range(abs(count))]
        size: int = sum(digit << _DIGIT_BITS * place for place, digit in enumerate(digits))
        return -size if count < 0 else size

    def _long_text(self, encoding: str) -> str:
        data = self._bytes(self._size())
        try:
            return self._string(data.decode(encoding, "surrogatepass"))
        except UnicodeDecodeError as error:
            raise MarshalError(f"text is not UTF-8 at byte {self._at:,}") from error

    def _string(self, text: str) -> str:
        """Returns the same object for equal strings: most names occur many times."""
        known = self._strings.setdefault(text, text)
        if len(self._strings) > _MOST_STRINGS + len(self._data) // _BYTES_A_STRING:
            raise MarshalError("more names than a file of this size has")
        return known

    def _size(self) -> int:
        """Reads a number of items or bytes. It is at most the bytes left, as each item takes at least one."""
        size = self._long()
        if not 0 <= size <= len(self._data) - self._at:
            raise MarshalError(f"truncated at byte {self._at:,}")
        return size

    def _long(self) -> int:
        value: int = _LONG.unpack(self._bytes(4))[0]
        return value

    def _peek(self) -> int:
        return self._data[self._at] if self._at < len(self._data) else -1

    def _bytes(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise MarshalError(f"truncated at byte {len(self._data):,}")
        data = self._data[self._at : end]
        self._at = end
        return data
