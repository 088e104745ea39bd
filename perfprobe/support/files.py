"""Writes files atomically, and never through another user's link."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from perfprobe.support import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NAMES_THAT_ARE_NO_FILES = ("/dev/", "/proc/")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_COPIED_BYTES = 1 << 20  # at a time


def write(path: str, data: bytes | Iterable[bytes]) -> None:
    """Writes a file under an unpredictable name, then renames it.

    A file or link at `path` is replaced, and links are not followed. A pipe or device (/dev/stdout) is
    written to directly.

    Args:
        path: the file.
        data: the content, or an iterable of its parts. If the iterable fails, no file is left.

    Raises:
        OSError: the file cannot be written.
    """
    if _is_no_file(path):
        _fill(_opened(path, os.O_WRONLY), data)
        return
    part = _part(path)
    try:
        descriptor = _opened(part, _NEW)
    except PermissionError:
        # The folder cannot be written to, but the file can.
        if os.path.islink(path) or not os.path.isfile(path):
            raise
        _fill(_opened(path, os.O_WRONLY | os.O_TRUNC | system.NO_LINK), data)
        return
    with _removed(part):
        _fill(descriptor, data)
        os.replace(part, path)


def write_new(paths: Sequence[str], data: bytes | Iterable[bytes]) -> str:
    """Writes a new file with the first of these names that does not exist; returns the name.

    Args:
        paths: names in one folder.
        data: as in `write`.

    Raises:
        FileExistsError: all names exist.
        OSError: the file cannot be written.
    """
    if _is_no_file(paths[0]):
        _fill(_opened(paths[0], os.O_WRONLY), data)
        return paths[0]
    part = _part(paths[0])
    descriptor = _opened(part, _NEW)
    with _removed(part):
        _fill(descriptor, data)
        for path in paths:
            with contextlib.suppress(FileExistsError):
                _link(part, path)
                return path
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), paths[-1])


def _part(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[:200]}.{os.urandom(8).hex()}")


def _link(part: str, path: str) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # the file system has no links
        descriptor = _opened(path, _NEW)
        try:
            with open(part, "rb") as file:
                _fill(descriptor, iter(lambda: file.read(_COPIED_BYTES), b""))
        except BaseException:
            os.unlink(path)
            raise


def _is_no_file(path: str) -> bool:
    if os.path.abspath(path).startswith(_NAMES_THAT_ARE_NO_FILES):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | system.CLOSED_IN_CHILDREN, 0o666)


def _fill(descriptor: int, data: bytes | Iterable[bytes]) -> None:
    with open(descriptor, "wb") as file:
        for part in (data,) if isinstance(data, bytes) else data:
            file.write(part)


@contextlib.contextmanager
def _removed(path: str) -> Iterator[None]:
    """Removes the file at the end, if it still exists."""
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
