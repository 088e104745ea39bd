"""Reads what programs show on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator


def shown(ours: int, theirs: int) -> bytes:
    """All that programs write to `theirs` until they end. Closes both ends.

    The system hands it over in pieces: a read may return less than was written, even by a program that has
    ended.
    """
    os.close(theirs)
    try:
        return b"".join(_pieces(ours))
    finally:
        os.close(ours)


def _pieces(ours: int) -> Iterator[bytes]:
    while True:
        try:
            yield os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            return
