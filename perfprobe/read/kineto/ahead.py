"""Reads a file one part ahead, so that decompressing and decoding happen at the same time."""

from __future__ import annotations

import zlib
from threading import Thread
from typing import BinaryIO


class ReadAhead:
    """Parts of a stream. The next one is read on another thread while the caller works on this one.

    Attributes:
        is_damaged: whether the last `read` could not read what should be there.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._next: _Part | None = None
        self.is_damaged = False

    def read(self, size_bytes: int) -> bytes:
        """Returns the next part, of at most this size; b"" at the end, and where the stream is damaged."""
        part = self._next or _Part(self._stream, size_bytes)
        part.join()
        self.is_damaged = part.is_damaged
        self._next = _Part(self._stream, size_bytes) if part.text else part
        return part.text


class _Part(Thread):
    def __init__(self, stream: BinaryIO, size_bytes: int) -> None:
        super().__init__(name="perfprobe reads", daemon=True)
        self._stream, self._size_bytes = stream, size_bytes
        self.text, self.is_damaged = b"", False
        self.start()

    def run(self) -> None:
        try:
            self.text = self._stream.read(self._size_bytes)
        except (EOFError, OSError, zlib.error):
            self.is_damaged = True
        except ValueError:  # the stream was closed, because the caller needs no more of it
            pass
