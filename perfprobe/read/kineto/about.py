"""Entries of a trace other than its events. They are decoded as a whole, so their size is limited."""

from __future__ import annotations

import json
from typing import Any

LONGEST_BYTES = 32 << 20  # of all entries before the list of events, and of all behind it
_MOST_VALUES = 1 << 20  # a decoded value takes up to 64 bytes, more than its text does
_BYTES_A_VALUE = 32  # longer texts may have more values
_PIECE_BYTES = 1 << 20


def is_too_large(text: bytes) -> bool:
    """Whether decoding this JSON text could take more than 64 MiB and four times its size."""
    return len(text) > LONGEST_BYTES or values_in(text) > _MOST_VALUES + len(text) // _BYTES_A_VALUE


def values_in(text: bytes) -> int:
    """Returns at least the number of values and keys of a JSON text, without decoding it."""
    plain = text.replace(rb"\\", b"").replace(rb"\"", b"")
    count, is_in_string = 1, False
    for at in range(0, len(plain), _PIECE_BYTES):
        parts = plain[at : at + _PIECE_BYTES].split(b'"')
        outside = b"".join(parts[is_in_string::2])
        count += sum(map(outside.count, (b",", b":", b"[", b"{")))
        is_in_string ^= len(parts) % 2 == 0
    return count


def entries(text: bytes) -> dict[str, Any]:
    """Returns the entries of a text like `{"a": 1, "b": 2`, with or without the final bracket.

    Empty if it is damaged.
    """
    for closed in (text, text + b"}"):
        try:
            found = json.loads(closed)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    return {}
