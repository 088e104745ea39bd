"""A file that is opened only once but read several times."""

from __future__ import annotations

import os
import stat
import weakref
from typing import BinaryIO

from perfprobe.support import system


class OpenedFile:
    """A regular file, open for reading as long as this object lives. name: as it was given.

    Raises OSError if it cannot be opened, ValueError if the name has a NUL.
    """

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self.name = os.fspath(name)
        self._descriptor = regular_file(self.name, os.O_RDONLY | system.CLOSED_IN_CHILDREN)
        weakref.finalize(self, os.close, self._descriptor)

    def at(self, offset: int, size_bytes: int) -> bytes:
        """Returns this many bytes from an offset; fewer at the end of the file. Raises OSError."""
        return system.read_at(self._descriptor, size_bytes, offset)

    def stream(self) -> BinaryIO:
        """Returns the file from its beginning, to be closed. Only one stream can be read at a time."""
        stream = os.fdopen(os.dup(self._descriptor), "rb")
        stream.seek(0)
        return stream


def regular_file(name: str, flags: int) -> int:
    """Opens regular files only: a pipe would wait for ever, a device has no end. Raises OSError."""
    descriptor = os.open(name, flags | system.WITHOUT_WAITING)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a file")
    return descriptor
