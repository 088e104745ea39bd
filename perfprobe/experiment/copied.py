"""Copies of a program's folder, so that what it writes does not touch the original.

Files share their blocks where the file system can (reflinks). Never hard links: a program that appends would
change the original.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from perfprobe.experiment.linked import checked, link
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.frozen import frozen

MOST_BYTES = 2 << 30
_CLONE = 0x40049409  # FICLONE of linux/fs.h
# Never copied: recordings, compiled code, environments of packages (which the interpreter finds by its path).
_LEFT_OUT = (".perfprobe", "__pycache__")
_ENVIRONMENT = "pyvenv.cfg"


@frozen
class Folder:
    """A folder to be copied. links: paths in it that copies see through a link. size_bytes: of its files."""

    path: str
    links: tuple[str, ...]
    size_bytes: int


def folder(path: str, links: Sequence[str]) -> Folder:
    """Looks at a folder.

    Args:
        links: paths in it, of large data that is only read.

    Raises:
        InputError: it is too large, or a symbolic link in it leads outside.
        UsageError: there is no such path to link.
    """
    whole = os.path.realpath(path)
    found = tuple(checked(links, whole, ""))
    size_bytes = 0
    for entry in _entries(whole, found):
        if entry.is_symlink():
            _check_inside(entry.path, whole)
        elif not entry.is_dir():
            size_bytes += entry.stat(follow_symlinks=False).st_size
        if size_bytes > MOST_BYTES:
            what = f"the folder has more than {units.size(MOST_BYTES)}, and each run needs a copy of it"
            raise InputError(what, whole, "name what is only read: --link DATA, or start in another folder")
    return Folder(whole, found, size_bytes)


def _entries(path: str, links: Sequence[str], inside: str = "") -> Iterator[os.DirEntry[str]]:
    """All in it, a folder before what it has; not what is below `links`, nor what is never copied."""
    with os.scandir(os.path.join(path, inside)) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            relative = os.path.join(inside, entry.name)
            if relative in links or entry.name in _LEFT_OUT:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and os.path.exists(os.path.join(entry.path, _ENVIRONMENT)):
                continue
            yield entry
            if is_folder:
                yield from _entries(path, links, relative)


def _check_inside(path: str, whole: str) -> None:
    target = os.path.realpath(path)
    if not target.startswith(whole + os.sep):
        where = f"{os.path.relpath(path, whole)} -> {target}"
        remedy = f"if it is only read: --link {os.path.relpath(path, whole)}"
        raise InputError("a link leads out of the folder, so its copy would be the original", where, remedy)


def copy(source: Folder, target: str) -> None:
    """Makes a copy in a new folder. Pipes and sockets are left out.

    Raises:
        OSError: a file cannot be copied.
    """
    os.makedirs(target)
    for entry in _entries(source.path, source.links):
        _copy(entry, os.path.join(target, os.path.relpath(entry.path, source.path)))
    link(source.links, source.path, target)


def _copy(entry: os.DirEntry[str], target: str) -> None:
    if entry.is_dir(follow_symlinks=False):
        os.mkdir(target)
        return
    if entry.is_symlink():  # it stays inside
        real = os.path.relpath(os.path.realpath(entry.path), os.path.realpath(os.path.dirname(entry.path)))
        os.symlink(real, target)
        return
    if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
        return
    with open(entry.path, "rb") as old, open(target, "wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _CLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 20)
    with suppress(OSError):
        shutil.copystat(entry.path, target)


Files = dict[str, tuple[int, int]]


def files_in(path: str) -> Files:
    """Size and time of the last change of all files in a copy. Compiled code does not count."""
    found = {}
    for place, names, files in os.walk(path):
        names[:] = [name for name in names if name not in _LEFT_OUT]
        for name in files:
            whole = os.path.join(place, name)
            with suppress(OSError):
                about = os.lstat(whole)
                found[os.path.relpath(whole, path)] = about.st_size, about.st_mtime_ns
    return found


def moved(words: Sequence[str], source: Folder, target: str) -> tuple[str, ...]:
    """The words of a command line as they mean the same in the copy.

    Absolute paths in the folder become those in its copy, and relative ones that leave it absolute.
    """
    return tuple(_moved(word, source.path, target) for word in words)


def _moved(word: str, path: str, target: str) -> str:
    if word.startswith(path + os.sep):
        return target + word[len(path) :]
    if word == os.pardir or word.startswith(os.pardir + os.sep):
        whole = os.path.normpath(os.path.join(path, word))
        return whole if os.path.exists(whole) else word
    return word
