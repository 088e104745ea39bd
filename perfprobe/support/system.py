"""What Windows has not and reading would need: flags of `open`, `pread`, users, the machine's name."""

from __future__ import annotations

import os

# Where a flag is missing, there is nothing to ask for. Without O_BINARY Windows changes the ends of lines.
CLOSED_IN_CHILDREN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_TERMINAL = getattr(os, "O_NOCTTY", 0)
FOLDER_ONLY = getattr(os, "O_DIRECTORY", 0)


def host() -> str:
    """Returns the name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def is_own(path: str) -> bool:
    """Whether the file belongs to this user; False where files have no such owner. Raises OSError."""
    return hasattr(os, "geteuid") and os.stat(path).st_uid == os.geteuid()


def read_at(descriptor: int, size_bytes: int, offset: int) -> bytes:
    """Returns this many bytes from an offset, and leaves the file where it is. Raises OSError."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size_bytes, offset)
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, offset, os.SEEK_SET)
    try:
        return os.read(descriptor, size_bytes)
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)
