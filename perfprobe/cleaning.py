"""Removes old recordings from the folder `.perfprobe/`, with what perfprobe wrote beside them.

Files are removed by their names in a folder that is open, so that no link is followed, and nothing outside of
`.perfprobe/` is reached.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from perfprobe.read.belongings import Belongings, belongings, jobs, rotates
from perfprobe.support import system
from perfprobe.support.errors import InputError
from perfprobe.tables import child_sums, storage

_LINKS = system.NO_LINK | system.CLOSED_IN_CHILDREN
_FOLDER = os.O_RDONLY | system.FOLDER_ONLY | _LINKS
_FILE = os.O_RDONLY | system.WITHOUT_WAITING | _LINKS


class Removed(NamedTuple):
    """What was removed, or would be: a recording, the number of its files, and their size."""

    name: str
    files: int
    size_bytes: int


class Cleaning:
    """The recordings in a folder's `.perfprobe/`.

    Attributes:
        removed: what has been removed, newest first.
        kept: number of recordings that stay.
        left: names of files that are not removed, each with the reason.
        failed: whether the system refused to remove a file.
    """

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, storage.FOLDER)
        self.removed: list[Removed] = []
        self.kept = 0
        self.left: list[tuple[str, str]] = []
        self.failed = False

    def remove(self, keep: int, *, dry: bool) -> None:
        """Remove all but the newest ones.

        Args:
            keep: how many stay; the ranks of a job count as one.
            dry: only find what would be removed.

        Raises:
            InputError: `.perfprobe/` is a link, or cannot be read.
        """
        try:
            with _opened(self.path) as folder:
                found = self._recordings(folder)
                self.kept = sum(map(len, found[:keep]))
                for one in (one for job in found[keep:] for one in job):
                    self._remove(folder, one, dry)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"nothing is removed: {error.strerror}", self.path) from error

    def _recordings(self, folder: int) -> list[list[Belongings]]:
        """The recordings that perfprobe wrote, by job; first what was written last."""
        names, written = os.listdir(folder), dict[str, int]()
        for name in names:
            if name.endswith(storage.SUFFIX):
                why = _why_not_ours(folder, name)
                if why:
                    self.left.append((name, why))
                else:
                    written[name] = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
        known = [name for name in names if name in written or not name.endswith(storage.SUFFIX)]
        found = jobs(belongings(known, partial(rotates, self.path)))
        return sorted(
            found,
            key=lambda job: max(written[name] for one in job for name in (one.name, *one.further)),
            reverse=True,
        )

    def _remove(self, folder: int, one: Belongings, dry: bool) -> None:
        process = _writer(os.path.join(self.path, [one.name, *one.further][-1]))
        if process is not None:
            self.left.append((one.name, f"process {process} still writes it"))
            return
        sizes = [size for name in one.folders for size in self._remove_children(folder, name, dry)]
        # The recording last, so that another try finds the rest.
        for name in (*one.files, *one.further, one.name):
            sizes += self._remove_file(folder, name, name, dry)
        self.removed.append(Removed(one.name, len(sizes), sum(sizes)))

    def _remove_children(self, above: int, name: str, dry: bool) -> list[int]:
        """Remove a folder of children, and return the sizes of its files."""
        sizes: list[int] = []
        try:
            with _opened(name, above) as folder:
                names = sorted(os.listdir(folder))
                known = {child_sums.FILE}
                known.update(*((one.name, *one.files) for one in belongings(names, lambda _: False)))
                for inner in names:
                    shown = os.path.join(name, inner)
                    if inner in known:
                        sizes += self._remove_file(folder, inner, shown, dry)
                    else:
                        self.left.append((shown, "perfprobe did not write it"))
            if not dry and len(sizes) == len(names):
                os.rmdir(name, dir_fd=above)
        except OSError as error:
            self._refused(name, error)
        return sizes

    def _remove_file(self, folder: int, name: str, shown: str, dry: bool) -> list[int]:
        """Remove a file, and return its size. shown: its name in a message."""
        try:
            why = _why_not_ours(folder, name)
            if not why:
                size_bytes = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
                if not dry:
                    os.unlink(name, dir_fd=folder)
                return [size_bytes]
            self.left.append((shown, why))
        except OSError as error:
            self._refused(shown, error)
        return []

    def _refused(self, name: str, error: OSError) -> None:
        self.left.append((name, str(error.strerror)))
        self.failed = True


def _why_not_ours(folder: int, name: str) -> str:
    """Returns why perfprobe cannot have written the file; "" if it can."""
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return "it is no file"
    if name.endswith(storage.SUFFIX):
        try:
            with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                head = file.read(len(storage.MAGIC))
        except OSError as error:
            return str(error.strerror)
        if head != storage.MAGIC[: len(head)]:
            return "it is no recording of perfprobe"
    return ""


def _writer(path: str) -> int | None:
    """Returns the process that still writes the recording; None if there is none."""
    program = storage.facts(path).get("program")
    process = program.get("pid") if isinstance(program, dict) else None
    if not isinstance(process, int) or not 0 < process < 2**31:
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # it is another user's
    with suppress(InputError):
        return None if storage.read(path).complete else process
    return None


@contextmanager
def _opened(path: str, above: int | None = None) -> Iterator[int]:
    """A folder, open. Raises OSError: it is a link or a file, or cannot be read."""
    if stat.S_ISLNK(os.stat(path, dir_fd=above, follow_symlinks=False).st_mode):
        raise OSError(errno.ELOOP, "it is a link", path)
    folder = os.open(path, _FOLDER, dir_fd=above)
    try:
        yield folder
    finally:
        os.close(folder)
