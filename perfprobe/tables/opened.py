"""A file that is read more than once, and opened only once."""

from __future__ import annotations

import os
import stat
import weakref
from typing import BinaryIO


class OpenedFile:
    """A regular file, open for reading as long as this object lives. name: as it was given.

    Raises OSError where it cannot be opened, ValueError where the name has a NUL.
    """

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self.name = os.fspath(name)
        self._descriptor = regular_file(self.name, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    def at(self, offset: int, size_bytes: int) -> bytes:
        """So many bytes from there on, fewer where the file ends before. Raises OSError."""
        return os.pread(self._descriptor, size_bytes, offset)

    def stream(self) -> BinaryIO:
        """The file from its beginning; to be closed. Only one stream can be read at a time."""
        stream = os.fdopen(os.dup(self._descriptor), "rb")
        stream.seek(0)
        return stream


def regular_file(name: str, flags: int) -> int:
    """An opener of regular files only: a pipe would wait for ever, a device has no end. Raises OSError."""
    descriptor = os.open(name, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a file")
    return descriptor
