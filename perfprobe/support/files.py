"""Files that perfprobe writes: whole or not at all, and never through a link that somebody else has laid."""

from __future__ import annotations

import contextlib
import os
import stat

_NAMES_THAT_ARE_NO_FILES = ("/dev/", "/proc/")


def write(path: str, data: bytes, *, replace: bool = True) -> None:
    """Write a file under a name that nobody can foresee, then give it its own.

    A link at `path` is replaced and not followed. What is no file (a pipe, /dev/stdout) is written into.

    Args:
        path: the file.
        data: all that is in it.
        replace: whether a file that is there may be replaced.

    Raises:
        FileExistsError: a file is there and must not be replaced.
        OSError: the file cannot be written.
    """
    if _is_no_file(path):
        _write_into(path, data, os.O_WRONLY)
        return
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name[:200]}.{os.urandom(8).hex()}")
    try:
        _write_into(part, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except PermissionError:
        # A folder that may not be written into, with a file that may.
        if not replace or os.path.islink(path) or not os.path.isfile(path):
            raise
        _write_into(path, data, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        return
    try:
        if replace:
            os.replace(part, path)
        else:
            _link(part, path, data)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _link(part: str, path: str, data: bytes) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _write_into(path, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def _is_no_file(path: str) -> bool:
    if os.path.abspath(path).startswith(_NAMES_THAT_ARE_NO_FILES):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _write_into(path: str, data: bytes, flags: int) -> None:
    made = bool(flags & os.O_CREAT)
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        if made:
            os.unlink(path)
        raise
